package exec_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/exec"
)

// TestBundledModel compares the embedded model with what its training script
// computed from the stored weights with another engine.
func TestBundledModel(t *testing.T) {
	data, err := os.ReadFile("../bundled/testdata/golden_logits.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Text   string    `json:"text"`
			IDs    []int32   `json:"ids"`
			TopIDs []int32   `json:"top_ids"`
			Logits []float64 `json:"top_logits"`
			Greedy []int32   `json:"greedy"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	c, err := model.Directory(bundled.FS()).Open(model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	device := devices(t)["cpu"]
	m, err := device.Load(c.Program, c.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, g := range golden.Cases {
		rows, err := exec.Logits(m, c.Program, g.IDs)
		if err != nil {
			t.Fatal(err)
		}
		last := rows[len(rows)-1]
		for i, id := range g.TopIDs {
			if d := math.Abs(float64(last[id]) - g.Logits[i]); d > 1e-3 {
				t.Errorf("%q: logit of token %d is %g, want %g", g.Text, id, last[id], g.Logits[i])
			}
		}
		l := &life{req: &messages.EngineRequest{Prompt: g.IDs, Params: params(nil)}, maxChunk: 64, wanted: len(g.Greedy)}
		newDriver(t, device, c, gpu.F32, 16).runAll(l)
		for i := range g.Greedy {
			if l.output[i] != g.Greedy[i] {
				t.Errorf("%q: token %d is %d, want %d", g.Text, i, l.output[i], g.Greedy[i])
				break
			}
		}
	}
}
