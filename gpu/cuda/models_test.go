//go:build cuda

package cuda

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/arch"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// modelShapes are models with random weights.
var modelShapes = []struct {
	name   string
	config config.Config
}{
	{"Llama 3.1 8B", config.Config{Architecture: "LlamaForCausalLM", Vocab: 128256, Hidden: 4096, Intermediate: 14336, Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128}},
	{"Qwen3 0.6B", config.Config{Architecture: "Qwen3ForCausalLM", Vocab: 151936, Hidden: 1024, Intermediate: 3072, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, QKNorm: true, Tied: true}},
}

// fewShape takes their place with -short, to try the test itself on the emulation.
var fewShape = config.Config{Architecture: "LlamaForCausalLM", Vocab: 256, Hidden: 64, Intermediate: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16}

// TestModels measures whole steps of models with random weights: loading, decoding with
// batches at a context of 2,048, and a prompt of 8,192. It needs a GPU.
func TestModels(t *testing.T) {
	if !cudaemu.RealDevice() {
		t.Skipf("it measures a GPU; set %s", cudaemu.DeviceVariable)
	}
	library, ordinal, err := cudaemu.Device("kernels")
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Library: library, Ordinal: ordinal})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Log("| model | what | time | rate |")
	t.Log("|---|---|---|---|")
	for _, s := range modelShapes {
		m := &modelMeter{t: t, name: s.name, config: s.config, context: 2048, prompt: 8192, steps: 200, batches: []int{1, 64, 256}}
		if testing.Short() {
			m.name, m.config, m.context, m.prompt, m.steps, m.batches = "small", fewShape, 64, 128, 4, []int{1, 4}
		}
		memory, err := d.Memory()
		if err != nil {
			t.Fatal(err)
		}
		if !m.fit(memory.Available) {
			continue
		}
		if err := m.run(d); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// modelMeter measures one model.
type modelMeter struct {
	t               *testing.T
	name            string
	config          config.Config
	context, prompt int
	steps           int // of the smallest batch; larger ones have a quarter
	batches         []int
	model           *model
	weightBytes     int64
}

// randomWeights are views of one block of random bf16, of about 0.01.
type randomWeights struct {
	shapes map[string][]int
	block  []byte
}

func newRandomWeights(p *gpu.Program) *randomWeights {
	w, most := &randomWeights{shapes: map[string][]int{}}, 0
	for _, s := range p.Weights {
		w.shapes[s.Name] = s.Shape
		most = max(most, 2*gpu.Elements(s.Shape))
	}
	w.block = make([]byte, most)
	for i, state := 0, uint64(1); i < most; i += 2 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		w.block[i], w.block[i+1] = byte(state>>32), 0x3c|byte(state>>40)&0x80
	}
	return w
}

func (w *randomWeights) Describe(name string) (gpu.Tensor, error) {
	shape, is := w.shapes[name]
	if !is {
		return gpu.Tensor{}, fmt.Errorf("no tensor is named %s", name)
	}
	return gpu.Tensor{Name: name, DType: gpu.BF16, Shape: shape}, nil
}

func (w *randomWeights) Tensor(name string) (gpu.Tensor, error) {
	t, err := w.Describe(name)
	if err == nil {
		t.Data = w.block[:2*gpu.Elements(t.Shape)]
	}
	return t, err
}

func (w *randomWeights) Discard([]byte) {}

// needs is about how much memory of the device the model takes.
func (m *modelMeter) needs() int64 {
	c := m.config
	weights := int64(c.Layers)*int64(c.Hidden)*int64(3*c.Intermediate+2*c.HeadDim*(c.Heads+c.KVHeads)) + 2*int64(c.Vocab)*int64(c.Hidden)
	kv := gpu.KVSpec{Layers: c.Layers, Heads: c.KVHeads, HeadDim: c.HeadDim}
	activations := 4 * int64(m.prompt) * int64(6*c.Hidden+4*c.Intermediate)
	return 2*weights + int64(m.pages())*modelPage*kv.BytesPerToken(gpu.BF16) + activations + 2*mostWork
}

// fit drops the largest batches that the memory is too small for. It reports false if none is
// left.
func (m *modelMeter) fit(free int64) bool {
	for len(m.batches) > 0 && m.needs() > free {
		last := len(m.batches) - 1
		m.t.Logf("SKIPPED %s with %d rows: it needs %d bytes, and %d are free", m.name, m.batches[last], m.needs(), free)
		m.batches = m.batches[:last]
	}
	return len(m.batches) > 0
}

const modelPage = 64

// rowPages is how many pages a row takes: its context, and what it decodes.
func (m *modelMeter) rowPages() int { return ceilDiv(m.context+m.steps+m.steps/4, modelPage) }

func (m *modelMeter) pages() int {
	return max(m.batches[len(m.batches)-1]*m.rowPages(), ceilDiv(m.prompt+1, modelPage))
}

func (m *modelMeter) run(d gpu.Device) error {
	c := m.config
	c.Context, c.NormEps, c.DType = m.prompt+modelPage, 1e-5, gpu.BF16
	c.Rope = config.Rope{Theta: 500000, Scaling: "default", Factor: 1}
	p, err := arch.Program(&c)
	if err != nil {
		return err
	}
	weights := newRandomWeights(p)
	begun := time.Now()
	var first time.Time // end of the first weight
	var before int64    // its bytes
	loaded, err := d.Load(p, weights, func(done, total int64) {
		if first.IsZero() {
			first, before = time.Now(), done
		}
		m.weightBytes = total
	})
	if err != nil {
		return err
	}
	m.line("loading, with the kernels, the memory and the first weight", time.Since(begun), float64(m.weightBytes)/1e9, "GB/s")
	m.line("loading the other weights", time.Since(first), float64(m.weightBytes-before)/1e9, "GB/s")
	m.model = loaded.(*model)
	defer func() {
		if err := loaded.Close(); err != nil {
			m.t.Error(err)
		}
	}()
	spec := gpu.PoolSpec{PageSize: modelPage, Pages: m.pages(), DType: gpu.BF16, Rows: m.batches[len(m.batches)-1], Context: c.Context, StepTokens: m.prompt}
	if err := loaded.NewPool(spec); err != nil {
		return err
	}
	// What is in the pool counts as a cached prefix: small numbers, and no NaN.
	if err := m.model.worker.do(func() error {
		kv := m.model.pool.kv
		if err := m.model.stream.Fill(kv, 0, kv.Size(), 0x3c); err != nil {
			return err
		}
		return m.model.stream.Synchronize()
	}); err != nil {
		return err
	}
	for i, batch := range m.batches {
		if i == 1 {
			m.steps /= 4
		}
		if err := m.decode(batch); err != nil {
			return fmt.Errorf("batch of %d: %w", batch, err)
		}
	}
	return m.long()
}

// line prints a row of the table.
func (m *modelMeter) line(what string, took time.Duration, amount float64, unit string) {
	m.t.Logf("| %s | %s | %.3f ms | %.1f %s |", m.name, what, 1e3*took.Seconds(), amount/took.Seconds(), unit)
}

// numbered are pages from a first one on.
func numbered(first, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(first + i)
	}
	return list
}

// decode measures steps of a batch, two in flight as the engine has them.
func (m *modelMeter) decode(batch int) error {
	cached := ceilDiv(m.context, modelPage) - 1 // whole pages; the rest is computed in the first step
	start := cached * modelPage
	tokens := make([]int32, start+1)
	for i := range tokens {
		tokens[i] = int32(i % m.config.Vocab)
	}
	steps := make([]*gpu.StepBatch, 0, 2*m.steps)
	first := &gpu.StepBatch{Reset: true}
	for row := range batch {
		pages := numbered(1+row*m.rowPages(), m.rowPages())
		first.Opened = append(first.Opened, gpu.RowOpened{Row: gpu.Row(row), Prompt: tokens, Pages: pages[:cached], Sampling: gputest.Plain()})
		first.Grown = append(first.Grown, gpu.RowGrown{Row: gpu.Row(row), Pages: pages[cached:]})
	}
	for i := range m.steps + m.steps/4 {
		b := first
		if i > 0 {
			b = &gpu.StepBatch{}
		}
		for row := range batch {
			b.Work = append(b.Work, gpu.RowWork{Row: gpu.Row(row), Start: start + i, Count: 1, Sample: 1})
		}
		steps = append(steps, b)
	}
	warm := m.steps / 4
	if err := m.submit(steps[:warm]); err != nil {
		return err
	}
	begun := time.Now()
	if err := m.submit(steps[warm:]); err != nil {
		return err
	}
	took := time.Since(begun) / time.Duration(m.steps)
	m.line(fmt.Sprintf("a step of %d rows at %d", batch, m.context), took, float64(batch), "tokens/s")
	if err := m.busy(batch, took); err != nil {
		return err
	}
	bytes := float64(m.weightBytes)
	if !m.config.Tied {
		bytes -= 2 * float64(m.config.Vocab) * float64(m.config.Hidden) // the embedding is read by row
	}
	kv := gpu.KVSpec{Layers: m.config.Layers, Heads: m.config.KVHeads, HeadDim: m.config.HeadDim}
	bytes += float64(batch) * float64(m.context) * float64(kv.BytesPerToken(gpu.BF16))
	m.line(fmt.Sprintf("bytes of that step: %.2f GB", bytes/1e9), took, bytes/1e9, "GB/s")
	return nil
}

// busy measures the kernels of the last step alone, as one graph after the other: what a step
// takes longer is time in which the device waits for the host.
func (m *modelMeter) busy(batch int, step time.Duration) error {
	exec := m.model.graphs.byRows[graphSize(batch, m.model.pool.tile)]
	if exec == nil {
		m.t.Logf("SKIPPED the time without a kernel: steps of %d rows are no graph", batch)
		return nil
	}
	stream, took := m.model.stream, time.Duration(0)
	err := m.model.worker.do(func() error {
		var begun time.Time
		for i := range m.steps + 1 {
			if i == 1 { // the first one is only to begin
				if err := stream.Synchronize(); err != nil {
					return err
				}
				begun = time.Now()
			}
			if err := stream.LaunchGraph(exec); err != nil {
				return err
			}
		}
		err := stream.Synchronize()
		took = time.Since(begun) / time.Duration(m.steps)
		return err
	})
	m.t.Logf("| %s | kernels of that step alone | %.3f ms | %.1f %% of the step is without a kernel |", m.name, 1e3*took.Seconds(), 100*(1-took.Seconds()/step.Seconds()))
	return err
}

// submit runs steps with two in flight.
func (m *modelMeter) submit(steps []*gpu.StepBatch) error {
	ends := make(chan error, gpu.StepsInFlight)
	inFlight := 0
	var failure error
	wait := func() {
		if err := <-ends; err != nil && failure == nil {
			failure = err
		}
		inFlight--
	}
	for _, b := range steps {
		if inFlight == gpu.StepsInFlight {
			wait()
		}
		if failure != nil {
			break
		}
		inFlight++
		m.model.Submit(b, func(_ *gpu.StepResult, err error) { ends <- err })
	}
	for inFlight > 0 {
		wait()
	}
	return failure
}

// long measures a prompt in one step.
func (m *modelMeter) long() error {
	tokens := make([]int32, m.prompt)
	for i := range tokens {
		tokens[i] = int32(i % m.config.Vocab)
	}
	var best time.Duration
	for range 3 {
		b := &gpu.StepBatch{Reset: true,
			Opened: []gpu.RowOpened{{Prompt: tokens, Sampling: gputest.Plain()}},
			Grown:  []gpu.RowGrown{{Pages: numbered(1, ceilDiv(m.prompt+1, modelPage))}},
			Work:   []gpu.RowWork{{Count: m.prompt, Sample: 1}}}
		begun := time.Now()
		if err := m.submit([]*gpu.StepBatch{b}); err != nil {
			return err
		}
		if took := time.Since(begun); best == 0 || took < best {
			best = took
		}
	}
	m.line(fmt.Sprintf("a prompt of %d", m.prompt), best, float64(m.prompt), "tokens/s")
	c := m.config
	n, parameters := float64(m.prompt), float64(m.weightBytes)/2-float64(c.Vocab)*float64(c.Hidden)
	flops := 2*n*parameters + 2*float64(c.Layers)*float64(c.Heads)*float64(c.HeadDim)*n*n
	m.line(fmt.Sprintf("operations of that prompt: %.1f T", flops/1e12), best, flops/1e12, "TFLOP/s")
	return nil
}
