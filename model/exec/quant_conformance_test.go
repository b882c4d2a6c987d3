package exec_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// quantGolden is what llama.cpp's own code says of one quantised file: its
// elements, and the logits that they give in float64.
type quantGolden struct {
	File    string `json:"file"`
	Tensors map[string]struct {
		Type   string    `json:"type"`
		Sum    float64   `json:"sum"`
		AbsSum float64   `json:"abssum"`
		First  []float32 `json:"first8"`
		Last   []float32 `json:"last8"`
	} `json:"tensors"`
	Prompts []struct {
		IDs    []int32   `json:"ids"`
		Logits []float64 `json:"last_logits_f64"`
		// Theirs is how far llama.cpp is from Logits, with its activations in
		// int8.
		Theirs float64 `json:"llamacpp_maxdiff"`
	} `json:"prompts"`
}

func quantGoldens(t *testing.T) (dir string, all []quantGolden) {
	t.Helper()
	dir = conformance.Path(t, "weights", "quant")
	return dir, conformance.Lines[quantGolden](t, filepath.Join(dir, "golden_quant.jsonl"))
}

// TestConformanceQuantisedTensors decodes every tensor as it is in the file.
func TestConformanceQuantisedTensors(t *testing.T) {
	dir, all := quantGoldens(t)
	for _, g := range all {
		f, err := gguf.Open(os.DirFS(dir), g.File)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if len(f.Tensors) != len(g.Tensors) {
			t.Errorf("%s: %d tensors, want %d", g.File, len(f.Tensors), len(g.Tensors))
		}
		for _, x := range f.Tensors {
			want, ok := g.Tensors[x.Name]
			if !ok || x.Type.FileName() != want.Type {
				t.Errorf("%s: tensor %s is %s, want %q", g.File, x.Name, x.Type.FileName(), want.Type)
				continue
			}
			data, err := x.Blob.Bytes(x.At, x.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float32, len(data)/x.Type.BlockBytes()*x.Type.BlockLen())
			quant.Dequantize(x.Type, values, data)
			sum, abs := 0.0, 0.0
			for _, v := range values {
				sum += float64(v)
				abs += math.Abs(float64(v))
			}
			// The goldens were added in another order.
			if limit := 1e-9 * abs; math.Abs(sum-want.Sum) > limit || math.Abs(abs-want.AbsSum) > limit {
				t.Errorf("%s: tensor %s sums to %.12g and %.12g, want %.12g and %.12g", g.File, x.Name, sum, abs, want.Sum, want.AbsSum)
			}
			for i := range want.First {
				first, last := values[i], values[len(values)-len(want.Last)+i]
				if first != want.First[i] || last != want.Last[i] {
					t.Errorf("%s: tensor %s has %g and %g at %d, want %g and %g", g.File, x.Name, first, last, i, want.First[i], want.Last[i])
				}
			}
		}
	}
}

// TestConformanceQuantisedLogits runs the files on the reference device.
func TestConformanceQuantisedLogits(t *testing.T) {
	dir, all := quantGoldens(t)
	for _, g := range all {
		c := open(t, filepath.Join(dir, g.File))
		worst := 0.0
		for _, p := range g.Prompts {
			got := logitsOn(t, ref.New(), c, p.IDs)
			for i, want := range p.Logits {
				worst = max(worst, math.Abs(want-float64(got[i])))
			}
		}
		t.Logf("%s: largest difference %.3g", g.File, worst)
		if !(worst < 1e-3) {
			t.Errorf("%s: largest difference %g, limit 1e-3", g.File, worst)
		}
	}
}

// TestConformanceQuantisedOnCPU runs the files at every level: exactly, where
// no activation is rounded, and otherwise no further from the truth than
// llama.cpp. The two round at other places, so that on a single prompt either
// may be ahead; the mean of all is compared, and no prompt may be much worse.
func TestConformanceQuantisedOnCPU(t *testing.T) {
	dir, all := quantGoldens(t)
	for _, level := range simd.Levels() {
		for _, activations := range []string{"f32", "int8"} {
			d, err := cpu.New(cpu.Options{Threads: 2, InstructionSet: level.String(), Activations: activations})
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := 0.0, 0.0
			for _, g := range all {
				c := open(t, filepath.Join(dir, g.File))
				for i, p := range g.Prompts {
					worst, limit := 0.0, 1e-3
					got := logitsOn(t, d, c, p.IDs)
					for i, want := range p.Logits {
						worst = max(worst, math.Abs(want-float64(got[i])))
					}
					if c.WeightDType().Quantised() && activations == "int8" {
						limit = 1.5 * p.Theirs
						ours, theirs = ours+worst, theirs+p.Theirs
					}
					if !(worst <= limit) {
						t.Errorf("%s, %s, %s, prompt %d: largest difference %.3g, limit %.3g", g.File, level, activations, i, worst, limit)
					}
				}
			}
			t.Logf("%s, %s: largest differences sum up to %.3g, those of llama.cpp to %.3g", level, activations, ours, theirs)
			if ours > theirs || (activations == "int8") != (theirs > 0) {
				t.Errorf("%s, %s: largest differences sum up to %.3g, those of llama.cpp to %.3g", level, activations, ours, theirs)
			}
		}
	}
}
