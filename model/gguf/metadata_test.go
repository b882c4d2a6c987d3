package gguf_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/gguf"
)

func TestMetadata(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		s := sample()
		s.Version, s.Alignment = version, 4096
		f, err := opened(written(t, s))
		if err != nil {
			t.Fatal(err)
		}
		all, err := gguf.Read("all", f.Metadata(func(string) bool { return true }))
		if err != nil {
			t.Fatal(err)
		}
		if all.Version != version || len(all.Tensors) != 0 || !slices.Equal(all.Keys(), f.Keys()) {
			t.Errorf("version %d, %d tensors, keys %v", all.Version, len(all.Tensors), all.Keys())
		}
		checkValues(t, all)

		few := f.Metadata(func(key string) bool { return key == "texts" || key == "u8" })
		f.Close() // the copy does not need it
		want := ggufwrite.File{Version: version, Keys: ggufwrite.Keys("u8", uint8(200), "texts", []string{"a", "", "längeres"})}
		if want := written(t, want); !bytes.HasPrefix(want, few) || len(bytes.Trim(want[len(few):], "\x00")) > 0 {
			t.Errorf("%q, want %q", few, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	part := written(t, ggufwrite.File{Keys: ggufwrite.Keys("split.no", uint16(0), "split.count", uint16(2))})
	for want, data := range map[string][]byte{
		"m: is one of 2 parts":  part,
		"m: has 0 bytes":        nil,
		"m: is not a GGUF file": []byte("somewhat more"),
	} {
		if _, err := gguf.Read("m", data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
