// Command release builds the archives that users download: the binary of each platform
// with licence, README, documentation and presets, a bill of materials for each, and the checksums.
// For linux/amd64 there is a second archive, with the binary that also uses NVIDIA GPUs.
//
// # Parts
//
//   - main.go: flags, the order of the work, checksums
//   - target.go: what is built, and what that needs
//   - archive.go: archives whose bytes depend on their content only
//   - changelog.go: the versions of CHANGELOG.md, compared with the tags
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bomTool writes the bills of materials. docs/decisions/0031-release.md
const bomTool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

func main() {
	version := flag.String("version", "dev", "version of the release, as git describe prints it")
	out := flag.String("out", "dist", "folder for the archives; it is emptied first")
	only := flag.String("only", "", "build only this platform, for example linux/arm64")
	withoutCUDA := flag.Bool("without-cuda", false, "leave out the binary for NVIDIA GPUs, which needs gcc")
	check := flag.Bool("check", false, "only compare CHANGELOG.md with the tags")
	flag.Parse()
	err := checkChangelog("CHANGELOG.md")
	if err == nil && !*check {
		err = release(*version, *out, *only, *withoutCUDA)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(version, out, only string, withoutCUDA bool) error {
	chosen, err := choose(only, withoutCUDA)
	if err != nil {
		return err
	}
	for _, t := range chosen { // before anything is built
		if err := t.possible(); err != nil {
			return err
		}
	}
	changed, err := commitTime()
	if err != nil {
		return err
	}
	if err := empty(out); err != nil {
		return err
	}
	for _, t := range chosen {
		if err := build(version, out, t, changed); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return checksums(out)
}

// empty makes an empty folder. It removes nothing but what a release has made there.
func empty(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, name := range old {
		base := filepath.Base(name)
		if !ours(base) && base != "SHA256SUMS" {
			return fmt.Errorf("%s has %s, which no release made; choose another folder with -out", dir, base)
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// build makes the archive and the bill of materials of one target.
func build(version, out string, t target, changed time.Time) error {
	name := t.archive(version)
	fmt.Println(name)
	tmp, err := os.MkdirTemp("", "troupe-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, t.binary())
	if err := run(t.make(binary, version)); err != nil {
		return err
	}
	files, err := contents(binary)
	if err != nil {
		return err
	}
	pack, suffix := tarball, ".tar.gz"
	if t.system == "windows" {
		pack, suffix = zipped, ".zip"
	}
	var archive bytes.Buffer
	if err := pack(&archive, name, files, changed); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, name+suffix), archive.Bytes(), 0o644); err != nil {
		return err
	}
	// The tool reads the modules that the linker recorded in the binary. Serial number and
	// time are left out because they would differ in each build.
	return run(exec.Command("go", "run", bomTool, "bin", "-json", "-noserial", "-notimestamp", "-std", "-version", version,
		"-output", filepath.Join(out, name+".cdx.json"), binary))
}

func run(c *exec.Cmd) error {
	text, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, text)
	}
	return nil
}

// contents are the files of an archive: the binary, the texts and the presets.
func contents(binary string) ([]file, error) {
	presets, err := filepath.Glob("configs/*.yaml")
	if err != nil {
		return nil, err
	}
	if len(presets) == 0 {
		return nil, errors.New("configs has no presets; run this in the root of the repository")
	}
	docs, err := documentation()
	if err != nil {
		return nil, err
	}
	all := []file{{name: filepath.Base(binary), from: binary, executable: true}}
	for _, name := range slices.Concat([]string{"LICENSE", "README.md", "CHANGELOG.md"}, presets, docs) {
		all = append(all, file{name: filepath.ToSlash(name), from: name})
	}
	for i := range all {
		if all[i].data, err = os.ReadFile(all[i].from); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// documentation are the texts that README.md leads to, with those that they name.
func documentation() (all []string, err error) {
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// commitTime is the time of the last commit. Files in archives have it, so that a second
// build gives the same bytes.
func commitTime() (time.Time, error) {
	text, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// checksums writes SHA256SUMS, which sha256sum -c reads.
func checksums(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, name := range names {
		if !ours(filepath.Base(name)) {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}
