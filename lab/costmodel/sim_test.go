package costmodel

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func costs(t testing.TB, gpu, model string) *Costs {
	t.Helper()
	g, err := Lookup(gpu)
	if err != nil {
		t.Fatal(err)
	}
	m, err := LookupModel(model)
	if err != nil {
		t.Fatal(err)
	}
	return NewCosts(g, m)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

// The published sizes: 8.03, 1.24, 70.6 and 7.62 billion parameters.
func TestParametersOfBuiltInShapes(t *testing.T) {
	for name, want := range map[string]float64{"llama-3.1-8b": 8.03e9, "llama-3.2-1b": 1.236e9, "llama-3.1-70b-fp8": 70.55e9, "qwen2.5-7b": 7.615e9} {
		m, err := LookupModel(name)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, float64(m.Parameters()), want, 0.002)
	}
	m, _ := LookupModel("llama-3.1-8b")
	if got := m.KVTokenBytes(); got != 131072 {
		t.Errorf("a token's KV takes %d bytes, want 32 layers × 8 heads × 128 × 2 × 2 = 131072", got)
	}
}

// One decoding row of an 8B model on an H200 waits for its weights: all but
// the embedding's 1.05 GB of 16.06 GB, at 82 % of 4.8 TB/s: 3.81 ms, and 0.9 ms
// overhead.
func TestDecodeIsBoundByWeights(t *testing.T) {
	c := costs(t, "h200", "llama-3.1-8b")
	cost := c.Step([]Row{{Count: 1, Context: 1000, Output: true}})
	read := (16.06e9 - 1.05e9) / (0.82 * 4.8e12)
	near(t, "reading the weights", cost.Linear+cost.Head, read, 0.005)
	near(t, "the step", c.StepTime([]Row{{Count: 1, Context: 1000, Output: true}}).Seconds(), read+0.0009, 0.02)
}

// 8192 tokens of prompt on an H200: 2 × 6.98e9 × 8192 = 114.4 TFLOP at 60 % of
// 989 TFLOP/s are 192.7 ms; attention's 4 × 32 × 4096 × 8192 × 8193 / 2 = 17.6
// TFLOP at 20 % are 88.9 ms.
func TestPrefillIsBoundByArithmetic(t *testing.T) {
	cost := costs(t, "h200", "llama-3.1-8b").Step([]Row{{Count: 8192, Output: true}})
	near(t, "matrix products", cost.Linear, 0.1927, 0.003)
	near(t, "attention", cost.Attention, 0.0889, 0.003)
}

// The steps of docs/benchmarks/cuda.md, as an H200 took them. The model is too fast for
// small models: their kernels are too short to fill the device.
func TestMeasuredSteps(t *testing.T) {
	h200, err := Lookup("h200")
	if err != nil {
		t.Fatal(err)
	}
	llama, err := LookupModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	qwen := Model{Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, Hidden: 1024, Intermediate: 3072, Vocab: 151936, Tied: true, WeightBytes: 2, KVBytes: 2}
	for _, c := range []struct {
		what        string
		model       Model
		rows, count int
		context     int
		ms          float64
		least, most float64 // of the model's time over the measured one
	}{
		{"8B, 1 row", llama, 1, 1, 2048, 4.85, 0.95, 1.05},
		{"8B, 64 rows", llama, 64, 1, 2048, 9.96, 0.9, 1.05},
		{"8B, 256 rows", llama, 256, 1, 2048, 24.2, 0.95, 1.05},
		{"8B, a prompt", llama, 1, 8192, 0, 292, 0.95, 1.05},
		{"0.6B, 1 row", qwen, 1, 1, 2048, 1.45, 0.75, 1},
		{"0.6B, 64 rows", qwen, 64, 1, 2048, 5.42, 0.9, 1.05},
		{"0.6B, 256 rows", qwen, 256, 1, 2048, 16.0, 0.95, 1.05},
		{"0.6B, a prompt", qwen, 1, 8192, 0, 68, 0.7, 1},
	} {
		rows := make([]Row, c.rows)
		for i := range rows {
			rows[i] = Row{Count: c.count, Context: c.context, Output: true}
		}
		got := NewCosts(h200, c.model).StepTime(rows).Seconds() * 1e3
		if share := got / c.ms; share < c.least || share > c.most {
			t.Errorf("%s: the model says %.2f ms, measured were %.2f: %.0f %%, want %.0f to %.0f %%", c.what, got, c.ms, share*100, c.least*100, c.most*100)
		}
	}
}

// A chunk with a long context reads K and V once, and computes with every key.
func TestAttentionOfAChunkCountsItsContext(t *testing.T) {
	c := costs(t, "h200", "llama-3.1-8b")
	whole := c.Step([]Row{{Count: 4096}}).Attention
	halves := c.Step([]Row{{Count: 2048}}).Attention + c.Step([]Row{{Count: 2048, Context: 2048}}).Attention
	near(t, "attention in two chunks", halves, whole, 0.001)
	// 1000 decoding rows with 1000 tokens each: 131 GB to read at 3.94 TB/s.
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = Row{Count: 1, Context: 1000, Output: true}
	}
	near(t, "attention of decoding rows", c.Step(rows).Attention, 131072*1002*1000/(0.82*4.8e12), 0.001)
}

func TestStepIsMonotone(t *testing.T) {
	c := costs(t, "a10g", "qwen2.5-7b")
	rapid.Check(t, func(r *rapid.T) {
		row := rapid.Custom(func(r *rapid.T) Row {
			return Row{rapid.IntRange(1, 20000).Draw(r, "count"), rapid.IntRange(0, 100000).Draw(r, "context"), rapid.Bool().Draw(r, "output")}
		})
		rows := rapid.SliceOfN(row, 1, 8).Draw(r, "rows")
		before := c.StepTime(rows)
		i := rapid.IntRange(0, len(rows)-1).Draw(r, "row")
		more := append([]Row(nil), rows...)
		switch rapid.IntRange(0, 3).Draw(r, "grow") {
		case 0:
			more[i].Count += rapid.IntRange(1, 1000).Draw(r, "by")
		case 1:
			more[i].Context += rapid.IntRange(1, 1000).Draw(r, "by")
		case 2:
			more[i].Output = true
		case 3:
			more = append(more, row.Draw(r, "another"))
		}
		if after := c.StepTime(more); after < before {
			r.Fatalf("%v takes %v, %v only %v", rows, before, more, after)
		}
	})
}

// More of anything a device has is never slower; more of anything a model has
// never faster.
func TestStepIsMonotoneInDeviceAndModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g, _ := Lookup(rapid.SampledFrom(Names()).Draw(r, "gpu"))
		m, _ := LookupModel(rapid.SampledFrom(ModelNames()).Draw(r, "model"))
		rows := []Row{{rapid.IntRange(1, 20000).Draw(r, "count"), rapid.IntRange(0, 100000).Draw(r, "context"), true}}
		time := func(g GPU, m Model) float64 {
			return float64(NewCosts(g, m).StepTime(rows))
		}
		base := time(g, m)
		better, bigger := g, m
		switch rapid.IntRange(0, 5).Draw(r, "better") {
		case 0:
			better.Peak.BF16 *= 2
		case 1:
			better.Bandwidth *= 2
		case 2:
			better.Efficiency.Linear = 1
		case 3:
			better.Efficiency.Attention = 1
		case 4:
			better.Efficiency.Memory = 1
		case 5:
			better.StepOverhead, better.LayerOverhead = 0, 0
		}
		switch rapid.IntRange(0, 6).Draw(r, "bigger") {
		case 0:
			bigger.Layers++
		case 1:
			bigger.Heads *= 2
		case 2:
			bigger.KVHeads *= 2
			bigger.Heads *= 2
		case 3:
			bigger.Hidden++
		case 4:
			bigger.Intermediate++
		case 5:
			bigger.Vocab++
		case 6:
			bigger.HeadDim++
		}
		if after := time(better, m); after > base {
			r.Fatalf("%+v is slower than %+v: %v > %v", better, g, after, base)
		}
		if after := time(g, bigger); after < base {
			r.Fatalf("%+v is faster than %+v: %v < %v", bigger, m, after, base)
		}
	})
}

func TestNoRowsNoTime(t *testing.T) {
	if got := costs(t, "l4", "llama-3.2-1b").StepTime(nil); got != 0 {
		t.Errorf("a step without rows takes %v", got)
	}
}

func TestUnknownNamesListTheKnown(t *testing.T) {
	if _, err := Lookup("h300"); err == nil || !strings.Contains(err.Error(), "h200, h100") {
		t.Error(err)
	}
	if _, err := LookupModel("gpt"); err == nil || !strings.Contains(err.Error(), "llama-3.1-8b") {
		t.Error(err)
	}
	if g, err := Lookup("H200"); err != nil || g.Name != "h200" {
		t.Error(g, err)
	}
}

// The cost model computes with the tables unchecked.
func TestNumbersOfTheTables(t *testing.T) {
	for _, name := range Names() {
		g, _ := Lookup(name)
		for what, x := range map[string]float64{
			"BF16": g.Peak.BF16, "FP32": g.Peak.FP32, "bandwidth": g.Bandwidth, "memory": float64(g.Memory), "step": float64(g.StepOverhead),
			"layer": float64(g.LayerOverhead), "linear": g.Efficiency.Linear, "attention": g.Efficiency.Attention, "efficiency of memory": g.Efficiency.Memory,
		} {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%s: %s is %v", name, what, x)
			}
		}
		if e := g.Efficiency; max(e.Linear, e.Attention, e.Memory) > 1 || g.Peak.FP8 < 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
	for _, name := range ModelNames() {
		m, _ := LookupModel(name)
		least := min(m.Layers, m.Heads, m.KVHeads, m.HeadDim, m.Hidden, m.Intermediate, m.Vocab, m.Context, m.WeightBytes, m.KVBytes)
		if least < 1 || m.Heads%m.KVHeads != 0 || m.WeightBytes > 4 || m.KVBytes > 4 {
			t.Errorf("%+v", m)
		}
	}
}

func BenchmarkStepTime(b *testing.B) {
	c := costs(b, "h200", "llama-3.1-8b")
	rows := make([]Row, 256)
	for i := range rows {
		rows[i] = Row{1, 1000 + i, true}
	}
	for b.Loop() {
		c.StepTime(rows)
	}
}
