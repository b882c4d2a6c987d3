package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"# Changelog\n## [Unreleased]\n- a\n## [0.2.0] - 2026-02-01\n## [0.1.0] - 2026-01-01\n", "v0.2.0 v0.1.0", ""},
		{"## [1.0.0-rc.1] - 2026-01-01\n", "v1.0.0-rc.1", ""},
		{"## [0.1.0] - 2026-01-01\n## [0.2.0] - 2026-02-01\n", "", "version 0.2.0 must be below 0.1.0"},
		{"## [0.1.0] - 2026-01-01\n## [0.1.0] - 2026-01-01\n", "", "must be below"},
		{"## [0.1.0]\n", "", "version 0.1.0 has no date"},
		{"## 0.1.0\n", "", "is not a version"},
		{"## [0.1] - 2026-01-01\n", "", "is not a semantic version"},
		{"## [0.1.0] - 2026-01-01\n## [Unreleased]\n", "", "must be the first section"},
		{"# Changelog\n", "", "names no version"},
	} {
		got, err := versions(c.text)
		if strings.Join(got, " ") != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
}

func TestTagsAgreeWithTheChangelog(t *testing.T) {
	for _, c := range []struct{ changelog, tags, err string }{
		{"v0.1.0", "", ""},
		{"v0.2.0 v0.1.0", "", ""}, // a shallow clone has no tags
		{"v0.1.0", "v0.1.0", ""},
		{"v0.2.0 v0.1.0", "v0.1.0 vendor", ""},
		{"v0.2.0 v0.1.0", "v0.2.0", "version v0.1.0 has no tag"},
		{"v0.1.0", "v0.1.0 v0.2.0", "tag v0.2.0 is not in the changelog"},
	} {
		err := agree(strings.Fields(c.changelog), strings.Fields(c.tags))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s with tags %s: %v", c.changelog, c.tags, err)
		}
	}
}

func TestChangelogOfThisRepository(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("not a git repository")
	}
	if err := checkChangelog("../../CHANGELOG.md"); err != nil {
		t.Error(err)
	}
}

// Archives have the same bytes regardless of when and where they are made.
func TestArchives(t *testing.T) {
	changed := time.Unix(1_700_000_000, 0).UTC()
	files := []file{{name: "troupe", data: []byte("binary"), executable: true}, {name: "configs/a.yaml", data: []byte("port: 1\n")}}
	for name, pack := range map[string]func(io.Writer, string, []file, time.Time) error{"tar": tarball, "zip": zipped} {
		var one, two bytes.Buffer
		if err := errors.Join(pack(&one, "folder", files, changed), pack(&two, "folder", files, changed.In(time.FixedZone("", 3600)).UTC())); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		read := map[string]string{}
		if name == "zip" {
			r, err := zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.File {
				data, err := r.Open(f.Name)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(data)
				read[f.Name] = string(text)
			}
		} else {
			z, err := gzip.NewReader(&one)
			if err != nil {
				t.Fatal(err)
			}
			for r := tar.NewReader(z); ; {
				h, err := r.Next()
				if err != nil {
					break
				}
				text, _ := io.ReadAll(r)
				read[h.Name] = string(text)
				if want := map[bool]int64{true: 0o755, false: 0o644}[strings.HasSuffix(h.Name, "/troupe")]; h.Mode != want || h.Uid != 0 || !h.ModTime.Equal(changed) {
					t.Errorf("%s: mode %o, user %d, time %v", h.Name, h.Mode, h.Uid, h.ModTime)
				}
			}
		}
		if len(read) != 2 || read["folder/troupe"] != "binary" || read["folder/configs/a.yaml"] != "port: 1\n" {
			t.Errorf("%s: the archive has %q", name, read)
		}
	}
}

// The pages that README.md and the documentation link to are in the archive.
func TestLinksInTheArchive(t *testing.T) {
	t.Chdir("../..")
	binary := filepath.Join(t.TempDir(), "troupe")
	if err := os.WriteFile(binary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := contents(binary)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = true
	}
	link, links := regexp.MustCompile(`\]\(([^):#]+\.md)(?:#[^)]*)?\)`), 0
	for _, f := range files {
		if !strings.HasSuffix(f.name, ".md") {
			continue
		}
		for _, found := range link.FindAllSubmatch(f.data, -1) {
			if to := path.Join(path.Dir(f.name), string(found[1])); !there[to] {
				t.Errorf("%s links to %s, which the archive does not have", f.name, to)
			}
			links++
		}
	}
	if links < 50 {
		t.Errorf("only %d links found", links)
	}
}

// A release has a binary for each platform, and for linux/amd64 a second one with CUDA.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		only    string
		without bool
		want    string
	}{
		{"", false, "troupe_1.0.0_linux_amd64 troupe-cuda_1.0.0_linux_amd64 troupe_1.0.0_linux_arm64 troupe_1.0.0_darwin_amd64 troupe_1.0.0_darwin_arm64 troupe_1.0.0_windows_amd64"},
		{"", true, "troupe_1.0.0_linux_amd64 troupe_1.0.0_linux_arm64 troupe_1.0.0_darwin_amd64 troupe_1.0.0_darwin_arm64 troupe_1.0.0_windows_amd64"},
		{"linux/amd64", false, "troupe_1.0.0_linux_amd64 troupe-cuda_1.0.0_linux_amd64"},
		{"linux/amd64", true, "troupe_1.0.0_linux_amd64"},
		{"windows/amd64", false, "troupe_1.0.0_windows_amd64"},
		{"plan9/amd64", false, ""},
	} {
		chosen, err := choose(c.only, c.without)
		var names []string
		for _, one := range chosen {
			names = append(names, one.archive("v1.0.0"))
			if !ours(names[len(names)-1]) {
				t.Errorf("%s is not ours", one)
			}
		}
		if strings.Join(names, " ") != c.want || (err == nil) != (c.want != "") {
			t.Errorf("-only %q, -without-cuda %v: %q, %v", c.only, c.without, names, err)
		}
	}
}

// Without a C compiler, the error says what to install and how to do without.
func TestReleaseWithoutCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	for _, one := range targets {
		if err := one.possible(); (err != nil) != one.cuda || err != nil && !strings.Contains(err.Error(), "-without-cuda") {
			t.Errorf("%s: %v", one, err)
		}
	}
}

// A release never deletes what somebody else put into its folder.
func TestEmptyRefusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"SHA256SUMS", "troupe_1.0.0_linux_amd64.tar.gz", "troupe-cuda_1.0.0_linux_amd64.tar.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err == nil || !strings.Contains(err.Error(), "which no release made") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// Two builds in different folders give the same bytes.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary twice")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "elsewhere")
	if text, err := exec.Command("git", "-C", root, "worktree", "list").CombinedOutput(); err != nil {
		t.Skipf("not a git repository: %s", text)
	}
	if err := os.CopyFS(other, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	var binaries [2][]byte
	for i, dir := range []string{root, other} {
		out := filepath.Join(t.TempDir(), "troupe")
		build := exec.Command("make", "-s", "-C", dir, "build", "OUT="+out, "VERSION=v0.0.1-test", "COMMIT=0123456789ab")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if binaries[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		if version, err := exec.Command(out, "version").Output(); err != nil || !strings.HasPrefix(string(version), "troupe v0.0.1-test (commit 0123456789ab, go1.") {
			t.Errorf("%s, %v", version, err)
		}
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Error("two builds of the same files differ")
	}
}
