//go:build cuda

package cuda

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// goldenCase runs a kernel on inputs that its name decides.
type goldenCase struct {
	name    string
	kernels []string // that it needs
	inputs  string   // cases with the same have the same inputs
	// prefix: of cases with the same inputs, the shorter output is how the longer one begins.
	prefix bool
	run    func(b *bed) []byte
}

// goldenFile is by how tensor cores add: those of Ampere and Ada do so in another way than
// newer ones.
func goldenFile(capability int) string {
	if capability < 90 {
		return "golden-ampere.txt"
	}
	return "golden-hopper.txt"
}

// outputsVariable names a folder for results with a wrong hash, to be compared with those of
// the emulation byte by byte. With -rewrite it gets all results.
const outputsVariable = "TROUPE_GOLDEN_OUTPUTS"

// keep writes a result into the folder that outputsVariable names.
func (r goldenResult) keep(b *bed) {
	if folder := os.Getenv(outputsVariable); folder != "" {
		b.must(os.WriteFile(filepath.Join(folder, strings.ReplaceAll(r.name, "/", "_")), r.output, 0o666))
	}
}

// The kernels give the bits whose hashes are in testdata/golden-*.txt, which were made over
// the emulation: there with -rewrite, and on a GPU as well (TROUPE_CUDA_DEVICE). Each group of
// kernels is a test of its own: an error that ends all work on a GPU is that of one group, if
// each runs in its own process.
func TestGolden(t *testing.T) {
	file := "testdata/" + goldenFile(newBed(t).device.Description().Capability)
	if golden.Rewriting() {
		rewriteGolden(t, file)
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	names := map[string]bool{}
	for _, g := range goldenGroups() {
		for _, c := range g.cases {
			names[c.name] = true
			if want[c.name] == "" {
				t.Errorf("%s is not in %s; run the test with -rewrite", c.name, file)
			}
		}
		t.Run(g.name, func(t *testing.T) { compareGolden(t, newBed(t), g.cases, want) })
	}
	for name := range want {
		if !names[name] {
			t.Errorf("%s of %s is not a case; run the test with -rewrite", name, file)
		}
	}
}

func compareGolden(t *testing.T, b *bed, cases []goldenCase, want map[string]string) {
	equal := 0
	runGolden(b, cases, func(r goldenResult) {
		switch {
		case r.skipped != "":
			t.Logf("SKIPPED %s: this device has no kernel %s", r.name, r.skipped)
		case r.sum() != want[r.name]:
			t.Errorf("FAIL %s: the result is %s; want %s", r.name, r.sum(), want[r.name])
			r.keep(b)
		default:
			equal++
			t.Logf("PASS %s", r.name)
		}
	})
	t.Logf("%d of %d golden hashes are equal", equal, len(cases))
}

// What tensor cores of Ampere compute is in a file of its own. The fake driver takes the
// architecture when a process starts, so this is a process of its own.
func TestGoldenOfAmpere(t *testing.T) {
	if cudaemu.RealDevice() {
		t.Skip("TestGolden is for the real device")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestGolden$", fmt.Sprintf("-rewrite=%v", golden.Rewriting()))
	c.Env = append(os.Environ(), "TROUPE_FAKE_CUDA=arch=8.0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func rewriteGolden(t *testing.T, file string) {
	t.Helper()
	var out bytes.Buffer
	for _, g := range goldenGroups() {
		t.Run(g.name, func(t *testing.T) {
			b := newBed(t)
			runGolden(b, g.cases, func(r goldenResult) {
				r.keep(b)
				sum := "none"
				if r.skipped == "" {
					sum = r.sum()
				}
				fmt.Fprintf(&out, "%s  %s\n", r.name, sum)
			})
		})
	}
	if t.Failed() {
		return
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldenResult is what a case gave.
type goldenResult struct {
	name    string
	output  []byte
	skipped string // the kernel that the device lacks
}

// sum has the first words as well, which say more than a hash where two differ.
func (r goldenResult) sum() string {
	sum := sha256.Sum256(r.output)
	return fmt.Sprintf("%s  %x", hex.EncodeToString(sum[:16]), r.output[:min(16, len(r.output))])
}

// runGolden runs cases, and calls done after each. It also compares those with the same
// inputs with each other.
func runGolden(b *bed, cases []goldenCase, done func(goldenResult)) {
	b.t.Helper()
	longest := map[string]goldenResult{}
	for _, c := range cases {
		r := goldenResult{name: c.name}
		for _, k := range c.kernels {
			if !b.kernels.fits(k) {
				r.skipped = k
			}
		}
		if r.skipped == "" {
			b.seed(cmp.Or(c.inputs, c.name))
			r.output = c.run(b)
			if fault := b.unguarded(); fault != "" {
				b.t.Errorf("FAIL %s: %s", c.name, fault)
			}
			b.release()
			if other, is := longest[c.inputs]; is && c.prefix {
				n := min(len(r.output), len(other.output))
				if !bytes.Equal(r.output[:n], other.output[:n]) {
					b.t.Errorf("FAIL %s and %s have the same inputs, and different bits", c.name, other.name)
				}
			}
			if c.prefix && len(r.output) > len(longest[c.inputs].output) {
				longest[c.inputs] = r
			}
		}
		done(r)
	}
}

// goldenGroup are the cases of kernels that belong together.
type goldenGroup struct {
	name  string
	cases []goldenCase
}

func goldenGroups() []goldenGroup {
	return []goldenGroup{
		{"rows", rowCases()},
		{"pool", poolCases()},
		{"attention", attentionCases()},
		{"sampling", samplingCases()},
		{"products", productCases()},
		{"decode", decodeCases()},
		{"prompt", promptCases()},
	}
}
