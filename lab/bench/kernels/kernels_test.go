package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/bench"
)

// memory holds a matrix of plain Go in every form, and two contexts.
func memory() []byte { return make([]byte, 16<<20) }

func TestEveryCaseRunsAndIsMeasured(t *testing.T) {
	m := &Meter{Memory: memory(), Rounds: 1, Least: time.Microsecond}
	choice := Choice{Levels: []simd.Level{simd.Portable}, Tokens: []int{1, 3}}
	seen := map[string]int{}
	err := choice.Each(memory(), func(c Case) error {
		r := m.Measure(c)
		seen[r.Kernel]++
		if r.Microseconds <= 0 || r.BytesPerSecond <= 0 || r.Level != "portable" || r.Shape == "" {
			t.Errorf("%+v", r)
		}
		if c.Cold != (r.ShareOfRead > 0 && r.ReadBandwidth > 0) || (c.Limit != NoLimit) != (r.ShareOfPeak > 0 && r.Peak > 0 && r.Limit != "") {
			t.Errorf("%+v of %+v", r, c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"gemm": 16, "integer gemm": 10, "attention decode": 1, "attention prefill": 1, "rmsnorm": 1, "peak": 1, "exp sum": 1, "softmax": 1}
	for name, n := range want {
		if seen[name] != n {
			t.Errorf("%d cases of %s, want %d", seen[name], name, n)
		}
	}
}

// Every level computes the same product of the same weights, which a wrong
// layout would not.
func TestProductsOfLevelsAgree(t *testing.T) {
	for _, f := range layout.Forms {
		for _, tokens := range []int{1, 5, 30} {
			var first []float32
			for _, l := range simd.Levels() {
				w, err := fill(f, memory(), portableRows)
				if err != nil {
					t.Fatal(err)
				}
				y := w.result(t, l, tokens, false)
				if first == nil {
					first = y
				}
				for i := range y {
					if d := math.Abs(float64(y[i] - first[i])); !(d < 1e-2*(1+math.Abs(float64(first[i])))) {
						t.Fatalf("%s of %s, %d tokens: element %d is %v, in plain Go %v", l, f, tokens, i, y[i], first[i])
					}
				}
			}
		}
	}
}

// result is what a case of a product computes.
func (w *weights) result(t *testing.T, l simd.Level, tokens int, rounded bool) []float32 {
	c, err := w.product(l, tokens, rounded)
	if err != nil {
		t.Fatal(err)
	}
	c.Do()
	return c.y
}

func TestIntegerProductsComeNearExactOnes(t *testing.T) {
	for _, f := range layout.Forms[3:] {
		for _, l := range simd.Levels() {
			for _, tokens := range []int{1, 5, 200} {
				w, err := fill(f, memory(), portableRows)
				if err != nil {
					t.Fatal(err)
				}
				exact, rounded := w.result(t, l, tokens, false), w.result(t, l, tokens, true)
				var off, all float64
				for i := range exact {
					off += math.Pow(float64(rounded[i]-exact[i]), 2)
					all += math.Pow(float64(exact[i]), 2)
				}
				if relative := math.Sqrt(off / all); !(relative < 0.02) {
					t.Errorf("%s of %s, %d tokens: off by %.3f", l, f, tokens, relative)
				}
			}
		}
	}
}

// Blocks are alike, so a context of them has the mean of one block, which no value
// of it exceeds.
func TestAttentionComputesAMean(t *testing.T) {
	for _, kv := range kvTypes {
		pool, err := newCache(kv, memory())
		if err != nil {
			t.Fatal(err)
		}
		for _, tokens := range []int{1, queryTokens} {
			var first []float32
			for _, l := range simd.Levels() {
				c, err := pool.attention(l, tokens)
				if err != nil {
					t.Fatal(err)
				}
				c.Do()
				if first == nil {
					first = c.y
				}
				for i, y := range c.y {
					if !(math.Abs(float64(y)) < 6) || math.Abs(float64(y-first[i])) > 1e-3 || y == 0 {
						t.Fatalf("%s of %s, %d tokens: element %d is %v, in plain Go %v", l, kv, tokens, i, y, first[i])
					}
				}
			}
		}
	}
}

func TestChoices(t *testing.T) {
	for want, c := range map[string]Choice{
		`--kernel "gem" is not known; use one of gemm, integer`: {Kinds: []string{"gem"}},
		`--form "q5" is not known`:                              {Forms: []string{"q5"}},
		"--tokens has 0":                                        {Tokens: []int{1, 0}},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c := Choice{Levels: simd.Levels()[:1], Kinds: []string{"integer", "attention"}, Forms: []string{"q4", "int8"}, Tokens: []int{2}}
	var seen []string
	if err := c.Each(memory(), func(k Case) error { seen = append(seen, k.Kernel+" "+k.Form); return nil }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "[integer gemm q4]" {
		t.Errorf("%q", seen)
	}
	stop := errors.New("enough")
	if err := (&Choice{}).Each(memory(), func(Case) error { return stop }); !errors.Is(err, stop) && !strings.Contains(err.Error(), "raise it") {
		t.Error(err)
	}
	if err := (&Choice{Kinds: []string{"gemm"}}).Each(make([]byte, 1<<20), nil); err == nil || !strings.Contains(err.Error(), "raise it") {
		t.Error(err)
	}
	if err := (&Choice{Kinds: []string{"attention"}}).Each(make([]byte, 1<<20), nil); err == nil || !strings.Contains(err.Error(), "two contexts") {
		t.Error(err)
	}
}

func TestReports(t *testing.T) {
	p := Report{Machine: bench.Machine{CPU: "A Processor", Cores: 2, OS: "linux", Arch: "amd64", InstructionSet: "avx2", Version: "v1", Go: "go1", GOMAXPROCS: 2}, ReadBytes: 1 << 30, Rounds: 5, Interrupted: true, Notes: []string{"a note"},
		Results: []Result{
			{Level: "avx2", Kernel: "gemm", Form: "q8", Tokens: 16, Shape: "[8960, 1536]", Microseconds: 1000, BytesPerSecond: 12e9, ShareOfRead: 0.6, OperationsPerSec: 90e9, ShareOfPeak: 0.8},
			{Level: "avx2", Kernel: "rmsnorm", Shape: "1536", Microseconds: 0.5, BytesPerSecond: 30e9},
		}}
	var b bytes.Buffer
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `machine   A Processor, 2 cores, linux/amd64, instruction set avx2
troupe    v1, go1, GOMAXPROCS 2
measured  on one thread, medians of 5 rounds (processor time), 1024 MiB of weights

| level | kernel  | form |  m | shape        |      µs | GB/s | of bandwidth | GOP/s | of peak |
| ----- | ------- | ---- | -: | ------------ | ------: | ---: | -----------: | ----: | ------: |
| avx2  | gemm    | q8   | 16 | [8960, 1536] | 1000.00 | 12.0 |       60.0 % |  90.0 |  80.0 % |
| avx2  | rmsnorm |      |    | 1536         |    0.50 | 30.0 |              |       |         |

interrupted: some kernels are missing

note: a note
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}
