package blob

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

func TestDiscardLosesNothing(t *testing.T) {
	want := bytes.Repeat([]byte("troupe"), 50_000)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(os.DirFS(dir), "w")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	data, err := b.Bytes(0, b.Size())
	if err != nil {
		t.Fatal(err)
	}
	d, is := b.(Discarder)
	if !is {
		t.Skip("files are not mapped on this system")
	}
	foreign := bytes.Clone(want)
	for _, part := range [][]byte{nil, data[:0], data[5:7], data[1:20_000], data[100_000:], data, foreign, foreign[4096:9000]} {
		d.Discard(part)
		if !bytes.Equal(data, want) {
			t.Fatalf("%d bytes given back: the file reads differently", len(part))
		}
		if !bytes.Equal(foreign, want) {
			t.Fatal("memory that is not the file's was given back")
		}
	}
}

func TestBytesAreBounded(t *testing.T) {
	b, err := Open(fstest.MapFS{"w": {Data: []byte("weights")}}, "w")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Bytes(2, 3); err != nil || string(got) != "igh" {
		t.Errorf("%q, %v", got, err)
	}
	for _, r := range [][2]int64{{-1, 2}, {0, 8}, {8, 0}, {7, 1}, {2, -1}, {1 << 62, 1 << 62}} {
		if got, err := b.Bytes(r[0], r[1]); err == nil {
			t.Errorf("%d bytes from %d on: %q", r[1], r[0], got)
		}
	}
}
