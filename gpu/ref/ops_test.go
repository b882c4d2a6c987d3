package ref_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// tensor is an F32 matrix, or a vector of one row.
func tensor(rows ...[]float32) gpu.Tensor {
	t := gpu.Tensor{Shape: []int{len(rows), len(rows[0])}}
	if len(rows) == 1 {
		t.Shape = t.Shape[1:]
	}
	for _, r := range rows {
		for _, x := range r {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(x))
		}
	}
	return t
}

// kept computes one token and returns its logits.
func kept(token int32) gputest.Part {
	part := gputest.Whole([]int32{token}, []int32{1})
	part.KeepLogits = true
	return part
}

// Each case runs ops between an embedding of two tokens, [3 4] and [1 -2], and
// logits: buffer 0 is embedded, buffer 1 is what is gathered. The results are
// worked out by hand.
func TestOpsByHand(t *testing.T) {
	weights := gputest.Tensors{
		"table":  tensor([]float32{3, 4}, []float32{1, -2}),
		"gain":   tensor([]float32{1, 2}),
		"matrix": tensor([]float32{1, 10}, []float32{-1, 0.5}),
		"bias":   tensor([]float32{100, 200}),
	}
	root := float32(math.Sqrt(12.5))
	sigmoid := func(x float64) float32 { return float32(x / (1 + math.Exp(-x))) }
	copied := gpu.Linear{In: 0, Out: 1, W: 2, Bias: gpu.NoWeight}
	e := math.Exp(1)
	for name, c := range map[string]struct {
		ops  []gpu.Op
		want [2][]float32
	}{
		"linear":      {[]gpu.Op{copied}, [2][]float32{{43, -1}, {-19, -2}}},
		"bias":        {[]gpu.Op{gpu.Linear{In: 0, Out: 1, W: 2, Bias: 3}}, [2][]float32{{143, 199}, {81, 198}}},
		"accumulated": {[]gpu.Op{copied, gpu.Linear{In: 0, Out: 1, W: 2, Bias: 3, Accumulate: true}}, [2][]float32{{186, 198}, {62, 196}}},
		"norm":        {[]gpu.Op{gpu.RMSNorm{In: 0, Out: 1, Gain: 1, Group: 2}}, [2][]float32{{3 / root, 8 / root}, {1 / float32(math.Sqrt(2.5)), -4 / float32(math.Sqrt(2.5))}}},
		"silu":        {[]gpu.Op{gpu.SiluMul{Gate: 0, Up: 0, Out: 1}}, [2][]float32{{sigmoid(3) * 3, sigmoid(4) * 4}, {sigmoid(1), sigmoid(-2) * -2}}},
		// Position 0 stays, position 1 turns by a quarter: (1, -2) -> (2, 1).
		"rope": {[]gpu.Op{gpu.Rope{X: 0, HeadDim: 2, InvFreq: []float64{math.Pi / 2}, Scale: 1}, gpu.SiluMul{Gate: 0, Up: 0, Out: 1}},
			[2][]float32{{sigmoid(3) * 3, sigmoid(4) * 4}, {sigmoid(2) * 2, sigmoid(1)}}},
		// Scores of the second token: (1, -2).(3, 4) = -5 and 5, times 0.1.
		"attention": {[]gpu.Op{gpu.StoreKV{K: 0, V: 0}, gpu.Attention{Q: 0, Out: 1, Heads: 1, Scale: 0.1}},
			[2][]float32{{3, 4}, {float32((3 + 1*e) / (1 + e)), float32((4 - 2*e) / (1 + e))}}},
	} {
		p := &gpu.Program{
			Name: name, Vocab: 2, Context: 8, KV: gpu.KVSpec{Layers: 1, Heads: 1, HeadDim: 2},
			Buffers: []gpu.BufferSpec{{Name: "x", Width: 2}, {Name: "y", Width: 2}, {Name: "logits", Width: 2, PerOutput: true}},
			Weights: []gpu.WeightSpec{{Name: "table", Shape: []int{2, 2}}, {Name: "gain", Shape: []int{2}}, {Name: "matrix", Shape: []int{2, 2}}, {Name: "bias", Shape: []int{2}}},
		}
		p.Ops = append(append([]gpu.Op{gpu.Embed{Table: 0, Out: 0}}, c.ops...), gpu.Gather{In: 1, Out: 2}, gpu.Sample{Logits: 2})
		m, err := gputest.Load(ref.New(), p, weights, gpu.PoolSpec{PageSize: 2, Pages: 1})
		if err != nil {
			t.Fatal(err)
		}
		part := gputest.Whole([]int32{0, 1}, []int32{1})
		part.KeepLogits = true
		got, err := gputest.Fresh(m, part)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range c.want {
			for j, want := range row {
				if x := got[0].Logits[i][j]; math.Abs(float64(x-want)) > 1e-6*math.Abs(float64(want))+1e-6 {
					t.Errorf("%s: row %d is %v, want %v", name, i, got[0].Logits[i], row)
					break
				}
			}
		}
	}
}

// logits 0, 1, 2 and 2: token 2 comes before token 3.
func TestSamplesByHand(t *testing.T) {
	w := gputest.Tensors{"table": tensor([]float32{0, 1, 2, 2}, []float32{0, 1, 2, 2}, []float32{0, 1, 2, 2}, []float32{0, 1, 2, 2})}
	p := &gpu.Program{
		Name: "sample", Vocab: 4, Context: 8,
		Buffers: []gpu.BufferSpec{{Name: "x", Width: 4}, {Name: "logits", Width: 4, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: []int{4, 4}}},
		Ops:     []gpu.Op{gpu.Embed{Out: 0}, gpu.Gather{In: 0, Out: 1}, gpu.Sample{Logits: 1}},
	}
	m, err := gputest.Load(ref.New(), p, w, gpu.PoolSpec{PageSize: 1, Pages: 1})
	if err != nil {
		t.Fatal(err)
	}
	prompt, output := func(o *gpu.RowOpened, tokens ...int32) { o.Prompt = tokens }, func(o *gpu.RowOpened, tokens ...int32) { o.Output = tokens }
	for name, c := range map[string]struct {
		change func(*gpu.RowOpened, *gpu.Sampling)
		want   []int32 // all that may be sampled, and each must be
	}{
		"all":                 {func(*gpu.RowOpened, *gpu.Sampling) {}, []int32{0, 1, 2, 3}},
		"greedy takes lower":  {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.Temperature = 0 }, []int32{2}},
		"top-k 1 takes lower": {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopK = 1 }, []int32{2}},
		"top-k 3":             {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopK = 3 }, []int32{1, 2, 3}},
		"top-p of one":        {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopP = 0 }, []int32{2}},
		// Weights e^-2, e^-1, 1, 1: the first two candidates hold 0.8.
		"top-p 0.75":      {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopP = 0.75 }, []int32{2, 3}},
		"top-p 0.85":      {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopP = 0.85 }, []int32{1, 2, 3}},
		"top-p of top-k":  {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.TopK, s.TopP = 2, 0.5 }, []int32{2}},
		"min-p 0.2":       {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.MinP = 0.2 }, []int32{1, 2, 3}},
		"ends masked":     {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.EndTokens, s.MinTokens = []int32{2, 1}, 1 }, []int32{0, 3}},
		"ends not masked": {func(o *gpu.RowOpened, s *gpu.Sampling) { output(o, 1); s.EndTokens, s.MinTokens = []int32{2, 1}, 1 }, []int32{0, 1, 2, 3}},
		"mask after bias": {func(_ *gpu.RowOpened, s *gpu.Sampling) {
			s.EndTokens, s.MinTokens, s.Bias = []int32{2}, 1, []gpu.TokenBias{{Token: 2, Bias: 50}}
		}, []int32{0, 1, 3}},
		"bias":     {func(_ *gpu.RowOpened, s *gpu.Sampling) { s.Bias = []gpu.TokenBias{{Token: 0, Bias: 50}} }, []int32{0}},
		"presence": {func(o *gpu.RowOpened, s *gpu.Sampling) { s.PresencePenalty = 50; output(o, 2, 2, 2) }, []int32{0, 1, 3}},
		"not of prompt": {func(o *gpu.RowOpened, s *gpu.Sampling) {
			s.PresencePenalty = 50
			prompt(o, 2)
		}, []int32{0, 1, 2, 3}},
		"frequency": {func(o *gpu.RowOpened, s *gpu.Sampling) { s.FrequencyPenalty = 25; output(o, 3, 3) }, []int32{0, 1, 2}},
		"repetition": {func(o *gpu.RowOpened, s *gpu.Sampling) {
			s.RepetitionPenalty, s.TopK = 4, 2
			prompt(o, 2)
		}, []int32{1, 3}},
		"temperature last": {func(o *gpu.RowOpened, s *gpu.Sampling) {
			s.Temperature, s.PresencePenalty = 1e-3, 1.5
			output(o, 2, 3)
		}, []int32{1}},
	} {
		sampled := map[int32]bool{}
		for seed := range uint64(400) {
			part := gputest.Whole([]int32{0}, []int32{1, 1, 1, 1})
			part.Open.Sampling = gpu.Sampling{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: seed, TopLogprobs: -1}
			c.change(part.Open, &part.Open.Sampling)
			part.Count, part.Sample = len(part.Open.Prompt)+len(part.Open.Output), 1
			got, err := gputest.Fresh(m, part)
			if err != nil {
				t.Fatal(err)
			}
			sampled[got[0].Tokens[0]] = true
		}
		for id := range int32(4) {
			want := false
			for _, w := range c.want {
				want = want || w == id
			}
			if sampled[id] != want {
				t.Errorf("%s: token %d sampled: %v, want %v", name, id, sampled[id], want)
			}
		}
	}
	grammar := gputest.Whole([]int32{0}, []int32{1})
	grammar.Sample, grammar.Mask = 1, gpu.Allow([]uint32{1<<1 | 1<<0})
	if got, err := gputest.Fresh(m, grammar); err != nil || got[0].Tokens[0] != 1 {
		t.Errorf("of tokens 0 and 1 allowed: %v, %v, want 1", got, err)
	}
}

// A bias of q8_0, 32 elements of which the first are 1, 2 and -3, on top of an
// embedding of q4_0 whose codes are all 9: every element is 1.
func TestQuantisedVectorsAndRows(t *testing.T) {
	table := gpu.Tensor{DType: gpu.Q4_0, Shape: []int{32, 32}}
	for range 32 {
		table.Data = append(table.Data, 0x00, 0x3c)
		for range 16 {
			table.Data = append(table.Data, 0x99)
		}
	}
	bias := gpu.Tensor{DType: gpu.Q8_0, Shape: []int{32}, Data: make([]byte, 34)}
	copy(bias.Data, []byte{0x00, 0x3c, 1, 2, 0xfd})
	p := &gpu.Program{
		Name: "quantised", Vocab: 32, Context: 8,
		Buffers: []gpu.BufferSpec{{Name: "x", Width: 32}, {Name: "last", Width: 32, PerOutput: true}, {Name: "logits", Width: 32, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: []int{32, 32}}, {Name: "bias", Shape: []int{32}}},
		Ops: []gpu.Op{gpu.Embed{Out: 0}, gpu.Gather{In: 0, Out: 1},
			gpu.Linear{In: 1, Out: 2, W: 0, Bias: 1}, gpu.Sample{Logits: 2}},
	}
	m, err := gputest.Load(ref.New(), p, gputest.Tensors{"table": table, "bias": bias}, gpu.PoolSpec{PageSize: 1, Pages: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := gputest.Fresh(m, kept(7))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{33, 34, 29, 32} { // 32 products of 1, and the bias
		if x := got[0].Logits[0][i]; x != want {
			t.Errorf("element %d is %v, want %v", i, x, want)
		}
	}
}

// Of 254, 1, 3 and -5 with scale 2, int8 keeps 127, 0 (a tie to even), 2 and -2:
// what is read back is 254, 0, 4 and -4. The other head has a scale of its own.
func TestInt8PoolByHand(t *testing.T) {
	row := []float32{254, 1, 3, -5, 12.7, 0.1, 0.3, -0.5}
	p := &gpu.Program{
		Name: "int8", Vocab: 8, Context: 8, KV: gpu.KVSpec{Layers: 1, Heads: 2, HeadDim: 4},
		Buffers: []gpu.BufferSpec{{Name: "x", Width: 8}, {Name: "y", Width: 8}, {Name: "logits", Width: 8, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: []int{8, 8}}},
		Ops: []gpu.Op{gpu.Embed{Out: 0}, gpu.StoreKV{K: 0, V: 0}, gpu.Attention{Q: 0, Out: 1, Heads: 2, Scale: 1},
			gpu.Gather{In: 1, Out: 2}, gpu.Sample{Logits: 2}},
	}
	w := gputest.Tensors{"table": tensor(row, row, row, row, row, row, row, row)}
	m, err := gputest.Load(ref.New(), p, w, gpu.PoolSpec{PageSize: 2, Pages: 1, DType: gpu.I8})
	if err != nil {
		t.Fatal(err)
	}
	got, err := gputest.Fresh(m, kept(0))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{254, 0, 4, -4, 12.7, 0.1, 0.3, -0.5} {
		if x := got[0].Logits[0][i]; math.Abs(float64(x-want)) > 1e-6*math.Abs(float64(want)) {
			t.Errorf("element %d is %v, want %v", i, x, want)
		}
	}
}
