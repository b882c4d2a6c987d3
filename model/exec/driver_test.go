package exec_test

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/exec"
)

// dummy opens a small random model.
func dummy(t testing.TB, keys map[string]any) *model.Checkpoint {
	t.Helper()
	all := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48,
		"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
	}
	maps.Copy(all, keys)
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := model.Directory(fstest.MapFS{config.File: {Data: data}}).Open(model.OpenOptions{LoadFormat: model.LoadDummy, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// params are sampling parameters with everything off.
func params(change func(p *messages.SamplingParams)) *messages.SamplingParams {
	p := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1 << 20,
		TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	if change != nil {
		change(p)
	}
	return p
}

// driver is the smallest scheduler: one step at a time, pages in order.
type driver struct {
	t    testing.TB
	e    *exec.Executor
	m    gpu.Model // of a device
	pool gpu.PoolSpec
	step messages.StepID
	page messages.Page // the last one given out
}

// newDriver loads a model on a device with a fresh pool.
func newDriver(t testing.TB, d gpu.Device, c *model.Checkpoint, kv gpu.DType, pageSize int) *driver {
	t.Helper()
	m, err := d.Load(c.Program, c.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		quiet := make(chan struct{})
		m.Quiesce(func() { close(quiet) })
		<-quiet
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := gpu.PoolSpec{PageSize: pageSize, Pages: 4096 / pageSize, DType: kv, Rows: 4, Context: c.Program.Context, StepTokens: 1 << 10}
	if err := m.NewPool(pool); err != nil {
		t.Fatal(err)
	}
	return &driver{t: t, e: exec.New(m, exec.Options{Vocab: c.Program.Vocab}), m: m, pool: pool}
}

// try runs one step to its end.
func (d *driver) try(b *messages.RunBatch) (*messages.BatchDone, error) {
	d.step++
	b.Epoch, b.Step = 1, d.step
	type answer struct {
		done *messages.BatchDone
		err  error
	}
	c := make(chan answer, 2)
	d.e.Submit(b, func(done *messages.BatchDone, err error) { c <- answer{done, err} })
	a := <-c
	return a.done, a.err
}

func (d *driver) must(b *messages.RunBatch) *messages.BatchDone {
	d.t.Helper()
	done, err := d.try(b)
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

// reserve returns the pages for more tokens than a table of have pages holds.
func (d *driver) reserve(have, tokens int) []messages.Page {
	var out []messages.Page
	for ; have*d.pool.PageSize < tokens; have++ {
		d.page = d.page%messages.Page(d.pool.Pages) + 1
		out = append(out, d.page)
	}
	return out
}

// life is one request on its way through the executor.
type life struct {
	row      messages.Row
	req      *messages.EngineRequest
	output   []int32
	logprobs []messages.PositionLogprobs
	prompt   map[int]messages.PositionLogprobs // by position
	pages    []messages.Page
	computed int
	cached   []messages.Page // pages of the prefix when it is opened
	opened   bool
	maxChunk int
	wanted   int // outputs
}

func (l *life) known() int { return len(l.req.Prompt) + len(l.output) }

// plan adds the request's part of the next step; false when it has all.
func (l *life) plan(d *driver, b *messages.RunBatch) bool {
	if len(l.output) >= l.wanted {
		return false
	}
	if !l.opened {
		l.opened = true
		l.pages, l.computed = l.cached, len(l.cached)*d.pool.PageSize
		b.Opened = append(b.Opened, messages.RowOpened{Row: l.row, Request: l.req, Output: l.output, Pages: l.cached})
	}
	count := min(l.maxChunk, l.known()-l.computed)
	if more := d.reserve(len(l.pages), l.computed+count); len(more) > 0 {
		l.pages = append(l.pages[:len(l.pages):len(l.pages)], more...)
		b.Grown = append(b.Grown, messages.RowGrown{Row: l.row, Pages: more})
	}
	work := messages.RowWork{Row: l.row, Start: l.computed, Count: count}
	if l.computed += count; l.computed == l.known() {
		work.Sample = 1
	}
	b.Work = append(b.Work, work)
	return true
}

// learn takes over what a step brought for the request.
func (l *life) learn(done *messages.BatchDone) {
	for _, s := range done.Sampled {
		if s.Row == l.row {
			l.output = append(l.output[:len(l.output):len(l.output)], s.Token)
			if s.Logprobs != nil {
				l.logprobs = append(l.logprobs, *s.Logprobs)
			}
		}
	}
	for _, p := range done.Prompts {
		for i, v := range p.Logprobs {
			if p.Row == l.row {
				if l.prompt == nil {
					l.prompt = map[int]messages.PositionLogprobs{}
				}
				l.prompt[p.First+i] = v
			}
		}
	}
}

// runAll runs requests side by side until each is done.
func (d *driver) runAll(lives ...*life) {
	d.t.Helper()
	for {
		b := &messages.RunBatch{}
		for _, l := range lives {
			l.plan(d, b)
		}
		if len(b.Work) == 0 {
			return
		}
		done := d.must(b)
		for _, l := range lives {
			l.learn(done)
		}
	}
}

// retract closes a row, as when memory ran out, and lets another row resume.
func (d *driver) retract(l *life, to messages.Row, mate *life) {
	d.t.Helper()
	b := &messages.RunBatch{Closed: []messages.Row{l.row}}
	mate.wanted = len(mate.output) + 1
	mate.plan(d, b)
	mate.learn(d.must(b))
	l.row, l.opened, l.pages, l.cached = to, false, nil, nil
}
