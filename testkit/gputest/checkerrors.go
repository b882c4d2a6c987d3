package gputest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
)

// checkBadSteps: each bad input is refused with an error that names the row, the next
// step is also refused, and the model works after a reset.
func checkBadSteps(d gpu.Device) error {
	p, w := Build(Shapes()[3], 8)
	m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 4, Pages: 8, Rows: 3, StepTokens: 12, Context: 40})
	if err != nil {
		return err
	}
	defer m.Close()
	good := Whole([]int32{1, 2, 3, 4, 5}, []int32{1, 2})
	good.KeepLogits = true
	want, err := Fresh(m, good)
	if err != nil {
		return err
	}
	sampling := func(change func(*gpu.Sampling)) func(*Part) {
		return func(q *Part) { change(&q.Open.Sampling) }
	}
	for name, change := range map[string]func(*Part){
		"token beyond the vocabulary": func(q *Part) { q.Open.Prompt[0] = int32(p.Vocab) },
		"negative output token":       func(q *Part) { q.Open.Output = []int32{-1} },
		"no prompt":                   func(q *Part) { q.Open.Prompt = nil },
		"page beyond the pool":        func(q *Part) { q.Grow = []int32{1, 9} },
		"page 0":                      func(q *Part) { q.Grow = []int32{0, 1} },
		"too few pages":               func(q *Part) { q.Grow = []int32{1} },
		"all of it cached":            func(q *Part) { q.Open.Pages = []int32{3, 4} },
		"beyond the context":          func(q *Part) { q.Open.Prompt = make([]int32, 41) },
		"more tokens than a step has": func(q *Part) { q.Open.Prompt, q.Grow, q.Count = make([]int32, 8), []int32{3, 4}, 8 },
		"no tokens":                   func(q *Part) { q.Count = 0 },
		"more tokens than known":      func(q *Part) { q.Count = 6 },
		"a gap":                       func(q *Part) { q.Start, q.Count = 1, 4 },
		"sampling in the middle":      func(q *Part) { q.Count, q.Sample = 4, 1 },
		"a negative sample":           func(q *Part) { q.Sample = -1 },
		"more samples than pages":     func(q *Part) { q.Sample = 5 },
		"score of the first token":    func(q *Part) { q.Open.Score = gpu.ScoreSpec{To: 2} },
		"score of no token":           func(q *Part) { q.Open.Score = gpu.ScoreSpec{From: 2, To: 6} },
		"a mask of one word":          func(q *Part) { q.Sample, q.Mask = 1, gpu.Allow(make([]uint32, 1)) },
		"certain tokens only":         func(q *Part) { q.Sample, q.Forced = 1, []int32{1, 2, 3, 4, 5} },
		"a certain token beyond":      func(q *Part) { q.Sample, q.Count, q.Forced = 1, 6, []int32{int32(p.Vocab)} },
		"end token beyond vocabulary": sampling(func(s *gpu.Sampling) { s.EndTokens = []int32{int32(p.Vocab)} }),
		"bias beyond the vocabulary":  sampling(func(s *gpu.Sampling) { s.Bias = []gpu.TokenBias{{Token: -1}} }),
		"negative temperature":        sampling(func(s *gpu.Sampling) { s.Temperature = -1 }),
		"no repetition penalty":       sampling(func(s *gpu.Sampling) { s.RepetitionPenalty = 0 }),
		"logits that are NaN":         func(q *Part) { q.Sample = 1; q.Open.Prompt[4] = int32(p.Vocab - 1) },
	} {
		bad := Whole([]int32{1, 2, 3, 4, 5}, []int32{3, 4})
		change(&bad)
		if err := refused(m, name, good, bad); err != nil {
			return err
		}
	}
	for name, change := range map[string]func(*gpu.StepBatch){
		"row 1 opened twice": func(b *gpu.StepBatch) {
			o := b.Opened[0]
			o.Row = 1
			b.Opened = append(b.Opened, o, o)
		},
		"row 1 closed, not open":    func(b *gpu.StepBatch) { b.Closed = []gpu.Row{1} },
		"row 1 is worked, not open": func(b *gpu.StepBatch) { b.Work = append(b.Work, gpu.RowWork{Row: 1, Count: 1}) },
		"row 1 appears twice in the step": func(b *gpu.StepBatch) {
			b.Opened[0].Row, b.Grown[0].Row, b.Work[0].Row = 1, 1, 1
			b.Work = append(b.Work, b.Work[0])
		},
		"row 1 grown, not open": func(b *gpu.StepBatch) { b.Grown[0].Row = 1 },
		"row 1 replaced beyond its pages": func(b *gpu.StepBatch) {
			b.Opened[0].Row, b.Grown[0].Row, b.Work[0].Row = 1, 1, 1
			b.Replaced = []gpu.RowReplaced{{Row: 1, First: 0, Pages: []int32{1}}}
		},
	} {
		b := Batch(good)
		b.Reset = true
		change(b)
		if _, err := Run(m, b); err == nil || !strings.Contains(err.Error(), "row 1") {
			return fmt.Errorf("%s: the error does not name row 1: %v", name, err)
		}
	}
	got, err := Fresh(m, good)
	if err != nil {
		return fmt.Errorf("after bad steps: %w", err)
	}
	return Same(got[0].Logits, want[0].Logits)
}

// refused: a step of a good and a bad row is refused because of the bad one, row 1, and
// so is every good step after it until one with Reset.
func refused(m gpu.Model, name string, good, bad Part) error {
	bad.Row = 1
	b := Batch(good, bad)
	b.Reset = true
	first, behind := submit(m, b), submit(m, Batch(good))
	switch err := (<-first).err; {
	case err == nil:
		return fmt.Errorf("%s: the step was not refused", name)
	case !strings.Contains(err.Error(), "row 1"):
		return fmt.Errorf("%s: the error does not name row 1: %v", name, err)
	}
	if (<-behind).err == nil {
		return fmt.Errorf("%s: the next step was computed", name)
	}
	if _, err := Step(m, good); err == nil {
		return fmt.Errorf("%s: a step was computed without a reset", name)
	}
	return nil
}

// checkBadWeights: Load fails with an error that names the tensor.
func checkBadWeights(d gpu.Device) error {
	p, good := Build(Shapes()[0], 9)
	const name = "layer.1.up"
	for what, change := range map[string]func(Tensors){
		"missing":     func(t Tensors) { delete(t, name) },
		"wrong shape": func(t Tensors) { x := t[name]; x.Shape = []int{x.Shape[1], x.Shape[0]}; t[name] = x },
		"cut short":   func(t Tensors) { x := t[name]; x.Data = x.Data[1:]; t[name] = x },
	} {
		bad := maps.Clone(good)
		change(bad)
		if m, err := d.Load(p, bad, nil); err == nil {
			return errors.Join(fmt.Errorf("a tensor that is %s loads", what), m.Close())
		} else if !strings.Contains(err.Error(), name) {
			return fmt.Errorf("a tensor that is %s: the error does not name %s: %v", what, name, err)
		}
	}
	broken := *p
	broken.Ops = broken.Ops[:len(broken.Ops)-1]
	if m, err := d.Load(&broken, good, nil); err == nil {
		return errors.Join(errors.New("a program without Sample loads"), m.Close())
	}
	return nil
}

// unknownOp is an op that no device has.
type unknownOp struct{ gpu.Op }

// untouched are weights that must not be read.
type untouched struct{ asked []string }

// Tensor implements gpu.Weights.
func (u *untouched) Tensor(name string) (gpu.Tensor, error) {
	u.asked = append(u.asked, name)
	return gpu.Tensor{}, errors.New("no tensor may be asked for")
}

// checkUnknownOp: a program with an op that the device does not have is refused by name,
// before any weight is read.
func checkUnknownOp(d gpu.Device) error {
	p, _ := Build(Shapes()[0], 9)
	if err := d.Supports(p); err != nil {
		return err
	}
	changed := *p
	changed.Ops = slices.Insert(slices.Clone(p.Ops), 3, gpu.Op(unknownOp{}))
	w := &untouched{}
	_, planned := d.PlanWeights(&changed, w)
	_, loaded := d.Load(&changed, w, nil)
	for what, err := range map[string]error{"Supports": d.Supports(&changed), "PlanWeights": planned, "Load": loaded} {
		if err == nil {
			return fmt.Errorf("%s accepts an op that no device has", what)
		}
		for _, part := range []string{d.Info().Kind + " device", p.Name, "op 3", "unknownOp", "choose another device"} {
			if !strings.Contains(err.Error(), part) {
				return fmt.Errorf("%s: the error does not tell %q: %v", what, part, err)
			}
		}
	}
	if len(w.asked) > 0 {
		return fmt.Errorf("weights %v were asked for", w.asked)
	}
	return nil
}

// checkLife walks a model from Load to Close.
func checkLife(d gpu.Device) error {
	if i := d.Info(); i.Kind == "" || i.Name == "" || i.Fingerprint == "" || len(i.Weights) == 0 || len(i.KV) == 0 {
		return fmt.Errorf("info is not complete: %+v", i)
	}
	p, w := Build(Shapes()[0], 10)
	var done, total int64
	m, err := d.Load(p, w, func(d, t int64) { done, total = d, t })
	if err != nil {
		return err
	}
	defer m.Close()
	if done != total || total == 0 {
		return fmt.Errorf("progress ended at %d of %d bytes", done, total)
	}
	q := Whole([]int32{3}, []int32{1})
	if _, err := Fresh(m, q); err == nil {
		return errors.New("a step without a pool is not refused")
	}
	for name, spec := range map[string]gpu.PoolSpec{
		"page size 3": {PageSize: 3, Pages: 4}, "no pages": {PageSize: 4}, "a context beyond the model's": {PageSize: 4, Pages: 4, Context: p.Context + 1},
		"less than no rows": {PageSize: 4, Pages: 4, Rows: -1}, "steps of less than no tokens": {PageSize: 4, Pages: 4, StepTokens: -1},
	} {
		if m.NewPool(Pool(p, spec)) == nil {
			return fmt.Errorf("a pool with %s is not refused", name)
		}
	}
	if m.NewPool(gpu.PoolSpec{PageSize: 4, Pages: 4}) == nil {
		return errors.New("a pool without limits is not refused")
	}
	if err := m.NewPool(Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 4})); err != nil {
		return err
	}
	if b := m.Bytes(); b["weights"] == 0 || b["kv"] == 0 {
		return fmt.Errorf("bytes lack weights or kv: %v", b)
	}
	if got, err := Step(m); err != nil || len(got) != 0 {
		return fmt.Errorf("an empty step gives %v, %v", got, err)
	}
	if err := checkInFlight(m); err != nil {
		return err
	}
	if err := m.Close(); err != nil {
		return err
	}
	if _, err := Fresh(m, q); err == nil {
		return errors.New("a step of a closed model is not refused")
	}
	return nil
}

// checkInFlight looks at what may be in flight, and when the model is quiet.
func checkInFlight(m gpu.Model) error {
	whole := func() *gpu.StepBatch {
		b := Batch(Whole([]int32{3}, []int32{1}))
		b.Reset = true
		return b
	}
	// Until the done of the first step returns, no other is called, so the steps
	// submitted meanwhile stay in flight.
	inDone, goOn := make(chan struct{}), make(chan struct{})
	steps, quiet := make(chan error, 4), make(chan int, 1)
	m.Submit(whole(), func(_ *gpu.StepResult, err error) {
		close(inDone)
		<-goOn
		// done may submit a step, for which Quiesce then waits also.
		steps <- err
	})
	<-inDone
	for range gpu.StepsInFlight {
		m.Submit(whole(), func(_ *gpu.StepResult, err error) { steps <- err })
	}
	over := <-submit(m, whole())
	if over.err == nil {
		return fmt.Errorf("more than %d steps in flight are not refused", gpu.StepsInFlight)
	}
	if m.NewPool(gpu.PoolSpec{PageSize: 4, Pages: 4, Rows: 1, Context: 4, StepTokens: 4}) == nil || m.Close() == nil {
		return errors.New("a new pool, or Close, is not refused while steps are in flight")
	}
	m.Quiesce(func() { quiet <- len(steps) })
	close(goOn)
	if n := <-quiet; n != 1+gpu.StepsInFlight {
		return fmt.Errorf("quiet after %d of %d steps", n, 1+gpu.StepsInFlight)
	}
	for range 1 + gpu.StepsInFlight {
		if err := <-steps; err != nil {
			return err
		}
	}
	return nil
}
