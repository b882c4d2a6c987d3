// Command build compiles the kernels: clang to PTX, ptxas to cubins for each target, a
// manifest of hashes and resources. It refuses kernels that spill registers and PTX whose
// arithmetic is not correctly rounded.
//
// Run it as `make kernels`. It needs clang 19 (Debian: apt-get install clang-19; set CLANG
// to use another path) and ptxas 12.4 (from Debian's non-free nvidia-cuda-toolkit: it is
// enough to unpack usr/bin/ptxas from the package; set PTXAS). No other file of NVIDIA is
// used. The same versions give the same bytes.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu/cuda/kernels"
)

// Targets in the order of the manifest. PTX is kept of the first: newer GPUs compile it.
var targets = []string{"sm_80", "sm_90a"}

func main() {
	log.SetFlags(0)
	dir := "gpu/cuda/kernels"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := build(dir); err != nil {
		log.Fatal("kernels: ", err)
	}
}

func build(dir string) error {
	b := builder{dir: dir, clang: tool("CLANG", "clang++-19"), ptxas: tool("PTXAS", "ptxas"), kernels: map[string]*kernels.Kernel{}}
	var err error
	if b.manifest.Clang, err = version(b.clang, "install clang-19, or set CLANG", `clang version (\d+\.\d+\.\d+)`); err != nil {
		return err
	}
	if b.manifest.PTXAS, err = version(b.ptxas, "unpack ptxas from the package nvidia-cuda-toolkit, and set PTXAS", `V(\d+\.\d+\.\d+)`); err != nil {
		return err
	}
	if err := b.readSources(); err != nil {
		return err
	}
	if b.temp, err = os.MkdirTemp("", "kernels"); err != nil {
		return err
	}
	defer os.RemoveAll(b.temp)
	for i, target := range targets {
		if err := b.compile(target, i == 0); err != nil {
			return err
		}
	}
	return b.writeManifest()
}

type builder struct {
	dir, temp, clang, ptxas string
	headers, files          []string
	kernels                 map[string]*kernels.Kernel
	manifest                kernels.Manifest
}

func tool(variable, name string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	return name
}

func version(tool, remedy, pattern string) (string, error) {
	out, err := exec.Command(tool, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w; %s", tool, err, remedy)
	}
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s --version is not understood; %s", tool, remedy)
	}
	return string(m[1]), nil
}

func (b *builder) readSources() error {
	sums, err := kernels.SourceSums(os.DirFS(b.dir))
	if err != nil {
		return err
	}
	b.manifest.Sources = sums
	for name := range sums {
		if strings.HasSuffix(name, ".cu") {
			b.files = append(b.files, name)
		} else if name != "portable.cuh" && name != "gpu.cuh" {
			b.headers = append(b.headers, name)
		}
	}
	slices.Sort(b.files)
	slices.Sort(b.headers)
	return nil
}

// unit is one translation unit of all files, so that there is one module to load. The
// headers come first, since each file lies in a namespace of its own.
func (b *builder) unit() string {
	var s strings.Builder
	s.WriteString("#include \"portable.cuh\"\n")
	for _, h := range b.headers {
		fmt.Fprintf(&s, "#include %q\n", h)
	}
	for _, f := range b.files {
		fmt.Fprintf(&s, "namespace file_%s {\n#include %q\n}\n", strings.TrimSuffix(f, ".cu"), f)
	}
	return s.String()
}

func (b *builder) compile(target string, keepPTX bool) error {
	unit, ptx, cubin := filepath.Join(b.temp, "unit.cu"), filepath.Join(b.temp, "unit.ptx"), filepath.Join(b.temp, "unit.cubin")
	if err := os.WriteFile(unit, []byte(b.unit()), 0o644); err != nil {
		return err
	}
	if _, err := run(b.clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch="+target,
		"-nocudainc", "-nocudalib", "-nostdinc", "-nostdinc++", "-fdeclspec", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Wno-parentheses", "-Werror",
		"-ffp-contract=off", "-Xclang", "-target-feature", "-Xclang", "+ptx80", "-I", b.dir, "-S", "-o", ptx, unit); err != nil {
		return err
	}
	text, err := os.ReadFile(ptx)
	if err != nil {
		return err
	}
	if err := checkPTX(string(text)); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	b.manifest.PTX = ptxVersion.FindStringSubmatch(string(text))[1]
	resources, err := run(b.ptxas, "-arch="+target, "-v", "-warn-spills", "-o", cubin, ptx)
	if err != nil {
		return err
	}
	if err := b.collect(target, string(text), resources); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if keepPTX {
		if err := b.output(target, target+".ptx.gz", text, false); err != nil {
			return err
		}
	}
	image, err := os.ReadFile(cubin)
	if err != nil {
		return err
	}
	return b.output(target, target+".cubin.gz", image, true)
}

func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return string(out), nil
}

// collect adds the kernels of a target.
func (b *builder) collect(target, ptx, resources string) error {
	entries := entriesOf(ptx)
	builds, err := buildsOf(resources)
	if err != nil {
		return err
	}
	for _, e := range entries {
		build, ok := builds[e.Name]
		if !ok {
			return fmt.Errorf("ptxas reports nothing about %s", e.Name)
		}
		k := b.kernels[e.Name]
		if k == nil {
			k = &kernels.Kernel{Name: e.Name, Parameters: e.Parameters, Threads: e.Threads, Builds: map[string]kernels.Build{}}
			b.kernels[e.Name] = k
		}
		if !slices.Equal(k.Parameters, e.Parameters) {
			return fmt.Errorf("%s has other parameters than on %s", e.Name, targets[0])
		}
		k.Builds[target] = build
	}
	return nil
}

func (b *builder) output(target, file string, data []byte, cubin bool) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	sum := sha256.Sum256(packed.Bytes())
	b.manifest.Outputs = append(b.manifest.Outputs, kernels.Output{
		File: file, SHA256: hex.EncodeToString(sum[:]), Bytes: len(data), Target: target, Cubin: cubin,
	})
	return os.WriteFile(filepath.Join(b.dir, "gen", file), packed.Bytes(), 0o644)
}

// writeManifest writes a line for each kernel, so that a change is seen as one.
func (b *builder) writeManifest() error {
	list := make([]string, 0, len(b.kernels))
	for _, k := range b.kernels {
		line, err := json.Marshal(k)
		if err != nil {
			return err
		}
		list = append(list, "    "+string(line))
	}
	slices.Sort(list)
	text, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return err
	}
	before, after, ok := strings.Cut(string(text), `"kernels": null`)
	if !ok {
		return errors.New("the manifest has no place for kernels")
	}
	whole := before + "\"kernels\": [\n" + strings.Join(list, ",\n") + "\n  ]" + after + "\n"
	fmt.Printf("%d kernels of %d files\n", len(list), len(b.files))
	return os.WriteFile(filepath.Join(b.dir, "gen", "manifest.json"), []byte(whole), 0o644)
}
