package exec_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

func open(t *testing.T, dir string) *model.Checkpoint {
	t.Helper()
	files, err := model.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := files.Open(model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestConformanceLogits(t *testing.T) {
	weights := conformance.Path(t, "weights")
	for _, m := range []struct {
		dir, golden string
		limit       float64
	}{
		{"stories260k/hf-f32", "stories260k/golden_logits.jsonl", 1e-4},
		{"stories260k/stories260K-f32.gguf", "stories260k/golden_logits.jsonl", 1e-4},
		// Rounding the weights to F16 moves the logits by this much.
		{"stories260k/stories260K-f16.gguf", "stories260k/golden_logits.jsonl", 0.02},
		{"fixtures/tiny-llama", "fixtures/golden_logits_tiny-llama.jsonl", 1e-4},
		{"fixtures/tiny-qwen2", "fixtures/golden_logits_tiny-qwen2.jsonl", 2e-4},
	} {
		c := open(t, filepath.Join(weights, m.dir))
		for name, device := range devices(t) {
			t.Run(m.dir+"/"+name, func(t *testing.T) {
				loaded, err := device.Load(c.Program, c.Weights, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer loaded.Close()
				worst := 0.0
				for _, g := range conformance.Lines[conformance.Logits](t, filepath.Join(weights, m.golden)) {
					rows, err := exec.Logits(loaded, c.Program, g.IDs)
					if err != nil {
						t.Fatal(err)
					}
					for i, want := range g.Last {
						worst = max(worst, math.Abs(want-float64(rows[len(rows)-1][i])))
					}
					for p, top := range g.Top8 {
						for _, e := range top {
							worst = max(worst, math.Abs(e[1]-float64(rows[p][int(e[0])])))
						}
					}
				}
				t.Logf("largest difference %.3g", worst)
				if !(worst < m.limit) {
					t.Errorf("largest difference %g, limit %g", worst, m.limit)
				}
			})
		}
	}
}

// TestConformanceBF16 compares the BF16 model with the F32 one, from which it
// was rounded: it has no goldens of its own, so only the size of the difference
// that rounding makes can be judged.
func TestConformanceBF16(t *testing.T) {
	weights := conformance.Path(t, "weights")
	exact, rounded := open(t, filepath.Join(weights, "stories260k/hf-f32")), open(t, filepath.Join(weights, "stories260k/hf-bf16"))
	if exact.WeightDType() != gpu.F32 || rounded.WeightDType() != gpu.BF16 {
		t.Errorf("element types %s and %s", exact.WeightDType(), rounded.WeightDType())
	}
	for name, device := range devices(t) {
		for _, g := range conformance.Lines[conformance.Logits](t, filepath.Join(weights, "stories260k/golden_logits.jsonl")) {
			a, b := logitsOn(t, device, exact, g.IDs), logitsOn(t, device, rounded, g.IDs)
			worst := 0.0
			for i := range a {
				worst = max(worst, math.Abs(float64(a[i]-b[i])))
			}
			if worst == 0 || worst > 0.5 {
				t.Errorf("%s: rounding the weights to BF16 moves a logit by %g", name, worst)
			}
		}
	}
}

func logitsOn(t *testing.T, d gpu.Device, c *model.Checkpoint, ids []int32) []float32 {
	t.Helper()
	m, err := d.Load(c.Program, c.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rows, err := exec.Logits(m, c.Program, ids)
	if err != nil {
		t.Fatal(err)
	}
	return rows[len(rows)-1]
}

// TestConformanceGreedy runs the executor as an engine would.
func TestConformanceGreedy(t *testing.T) {
	weights := conformance.Path(t, "weights")
	for _, m := range []struct{ dir, golden string }{
		{"stories260k/hf-f32", "stories260k/golden_logits.jsonl"},
		{"stories260k/stories260K-f32.gguf", "stories260k/golden_logits.jsonl"},
		{"fixtures/tiny-llama", "fixtures/golden_logits_tiny-llama.jsonl"},
		{"fixtures/tiny-qwen2", "fixtures/golden_logits_tiny-qwen2.jsonl"},
	} {
		c := open(t, filepath.Join(weights, m.dir))
		for name, device := range devices(t) {
			for i, g := range conformance.Lines[conformance.Logits](t, filepath.Join(weights, m.golden)) {
				l := &life{req: &messages.EngineRequest{Prompt: g.IDs, Params: params(nil)}, maxChunk: 16, wanted: len(g.Greedy)}
				newDriver(t, device, c, gpu.F32, 16).runAll(l)
				for k := range g.Greedy {
					if l.output[k] != g.Greedy[k] {
						t.Errorf("%s on %s, prompt %d: token %d is %d, want %d", m.dir, name, i, k, l.output[k], g.Greedy[k])
						break
					}
				}
			}
		}
	}
}

// TestConformanceText is llama2.c's own test: 200 greedy tokens from BOS.
func TestConformanceText(t *testing.T) {
	dir := conformance.Path(t, "weights", "stories260k")
	want, err := os.ReadFile(filepath.Join(dir, "llama2c_greedy200_expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hf-f32", "stories260K-f32.gguf", "stories260K-f16.gguf"} {
		files, err := model.At(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := files.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, filepath.Join(dir, name))
		for on, device := range devices(t) {
			l := &life{req: &messages.EngineRequest{Prompt: []int32{c.Config.BOS}, Params: params(nil)}, maxChunk: 16, wanted: 200}
			newDriver(t, device, c, gpu.F32, 16).runAll(l)
			// llama2.c ends its output with a line feed.
			if got := tok.Decode(l.output, tokenizer.DecodeOptions{SkipSpecial: true}) + "\n"; got != string(want) {
				t.Errorf("%s on %s: got %q\nwant %q", name, on, got, want)
			}
		}
	}
}
