package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz"
)

func pack(t *testing.T, headers ...*tar.Header) string {
	t.Helper()
	var packed bytes.Buffer
	x, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(x)
	for _, h := range headers {
		data := bytes.Repeat([]byte(h.Name), int(h.Size))[:h.Size]
		if err := files.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "pack.tar.xz")
	if err := os.WriteFile(archive, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return archive
}

func TestUnpack(t *testing.T) {
	archive, folder := pack(t, &tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755},
		&tar.Header{Name: "a/program", Typeflag: tar.TypeReg, Mode: 0o755, Size: 100_000}), t.TempDir()
	if err := unpack(archive, folder); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "a/program"))
	if err != nil || info.Size() != 100_000 || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the program is %v, %v", info, err)
	}
}

func TestBadArchives(t *testing.T) {
	for _, h := range []*tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg, Size: 1},
		{Name: "/out", Typeflag: tar.TypeReg, Size: 1},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
	} {
		if err := unpack(pack(t, h), t.TempDir()); err == nil {
			t.Errorf("%s is unpacked", h.Name)
		}
	}
	whole := pack(t, &tar.Header{Name: "file", Typeflag: tar.TypeReg, Size: 5000})
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if unpack(whole, t.TempDir()) == nil {
		t.Error("half an archive is unpacked")
	}
}
