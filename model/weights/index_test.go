package weights

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBadIndexAndMissingFiles(t *testing.T) {
	file := &fstest.MapFile{Data: build(sample[1])}
	cases := []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"nothing", fstest.MapFS{}, "load-format"},
		{"GGUF", fstest.MapFS{"m.gguf": file}, "GGUF"},
		{"PyTorch", fstest.MapFS{"pytorch_model.bin": file}, "safetensors"},
		{"shards without index", fstest.MapFS{"model-00001-of-00002.safetensors": file}, "index"},
		{"a directory", fstest.MapFS{SingleFile + "/x": file}, "not a regular file"},
		{"no map", fstest.MapFS{IndexFile: {Data: []byte(`{}`)}}, "weight_map"},
		{"empty map", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{}}`)}}, "empty"},
		{"outside", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"../secret"}}`)}}, "it must be a plain file name without a directory"},
		{"absolute", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"/etc/passwd"}}`)}}, "it must be a plain file name without a directory"},
		{"not a name", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":1}}`)}}, "no file name"},
		{"twice", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"x","a":"y"}}`)}}, "tensor a appears twice"},
		{"missing shard", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"1.safetensors"}}`)}}, "cannot open 1.safetensors"},
		{"tensor not in shard", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"q":"1.safetensors"}}`)}, "1.safetensors": file}, "does not contain tensor q"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Open(c.fsys); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map":{"a":"1.safetensors"}}`))
	shard := build(sample[1])
	f.Fuzz(func(t *testing.T, index []byte) {
		s, err := Open(fstest.MapFS{IndexFile: {Data: index}, "1.safetensors": {Data: shard}})
		if err != nil {
			return
		}
		if !slices.Equal(s.Names(), []string{"a"}) {
			t.Errorf("names %q from %q", s.Names(), index)
		}
	})
}
