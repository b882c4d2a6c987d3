package gputest

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
)

// checkBadSteps wants each bad input refused by an error that names the
// sequence, and the model to work afterwards.
func checkBadSteps(d gpu.Device) error {
	p, w := Build(Shapes()[3], 8)
	m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 4, Pages: 8})
	if err != nil {
		return err
	}
	defer m.Close()
	good := gpu.Sequence{Pages: []int32{1, 2}, Tokens: []int32{1, 2, 3, 4, 5}, KeepLogits: true}
	want, err := Step(m, good)
	if err != nil {
		return err
	}
	sample := func(change func(*gpu.SampleSpec)) func(*gpu.Sequence) {
		return func(q *gpu.Sequence) {
			q.Sample = &gpu.SampleSpec{Temperature: 1, TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}
			change(q.Sample)
		}
	}
	all := make([]int32, p.Vocab)
	for i := range all {
		all[i] = int32(i)
	}
	for name, change := range map[string]func(*gpu.Sequence){
		"token beyond the vocabulary": func(q *gpu.Sequence) { q.Tokens = []int32{int32(p.Vocab)} },
		"negative token":              func(q *gpu.Sequence) { q.Tokens = []int32{-1} },
		"no tokens":                   func(q *gpu.Sequence) { q.Tokens = nil },
		"page beyond the pool":        func(q *gpu.Sequence) { q.Pages = []int32{1, 9} },
		"page 0":                      func(q *gpu.Sequence) { q.Pages = []int32{0, 1} },
		"too few pages":               func(q *gpu.Sequence) { q.Pages = []int32{1} },
		"position beyond the context": func(q *gpu.Sequence) { q.Start = p.Context - 4; q.Pages = make([]int32, 99) },
		"negative start":              func(q *gpu.Sequence) { q.Start = -1 },
		"score before the step":       func(q *gpu.Sequence) { q.Start = 2; q.Score = &gpu.ScoreSpec{From: 1, Targets: []int32{1}} },
		"score after the step":        func(q *gpu.Sequence) { q.Score = &gpu.ScoreSpec{From: 4, Targets: []int32{1, 1}} },
		"score of no token":           func(q *gpu.Sequence) { q.Score = &gpu.ScoreSpec{From: 4, Targets: []int32{int32(p.Vocab)}} },
		"mask beyond the vocabulary":  sample(func(s *gpu.SampleSpec) { s.Mask = []int32{int32(p.Vocab)} }),
		"bias beyond the vocabulary":  sample(func(s *gpu.SampleSpec) { s.Bias = []gpu.TokenBias{{Token: -1}} }),
		"history beyond vocabulary":   sample(func(s *gpu.SampleSpec) { s.History = []gpu.TokenCount{{Token: 9999}} }),
		"negative temperature":        sample(func(s *gpu.SampleSpec) { s.Temperature = -1 }),
		"no repetition penalty":       sample(func(s *gpu.SampleSpec) { s.RepetitionPenalty = 0 }),
		"everything masked":           sample(func(s *gpu.SampleSpec) { s.Mask = all }),
		"logits that are NaN":         func(q *gpu.Sequence) { sample(func(*gpu.SampleSpec) {})(q); q.Tokens = []int32{int32(p.Vocab - 1)} },
	} {
		bad := good
		bad.Pages = []int32{3, 4}
		change(&bad)
		switch _, err := Step(m, good, bad); {
		case err == nil:
			return fmt.Errorf("%s: the step was not refused", name)
		case !strings.Contains(err.Error(), "sequence 1"):
			return fmt.Errorf("%s: the error does not name sequence 1: %v", name, err)
		}
	}
	got, err := Step(m, good)
	if err != nil {
		return fmt.Errorf("after bad steps: %w", err)
	}
	return Same(got[0].Logits, want[0].Logits)
}

// checkBadWeights wants Load to fail with an error that names the tensor.
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
	q := gpu.Sequence{Pages: []int32{1}, Tokens: []int32{3}}
	if _, err := Step(m, q); err == nil {
		return errors.New("a step without a pool is not refused")
	}
	if m.NewPool(gpu.PoolSpec{PageSize: 3, Pages: 4}) == nil || m.NewPool(gpu.PoolSpec{PageSize: 4}) == nil {
		return errors.New("a pool of page size 3, or of no pages, is not refused")
	}
	if err := m.NewPool(gpu.PoolSpec{PageSize: 4, Pages: 4}); err != nil {
		return err
	}
	if b := m.Bytes(); b["weights"] == 0 || b["kv"] == 0 {
		return fmt.Errorf("bytes lack weights or kv: %v", b)
	}
	if got, err := Step(m); err != nil || len(got) != 0 {
		return fmt.Errorf("an empty step gives %v, %v", got, err)
	}
	// Quiesce waits for the done of what was submitted before.
	steps, quiet := make(chan error, 2), make(chan int, 1)
	m.Submit(&gpu.StepBatch{Sequences: []gpu.Sequence{q}}, func(_ *gpu.StepResult, err error) {
		steps <- err
		// done may submit the next step, which Quiesce then waits for too.
		m.Submit(&gpu.StepBatch{Sequences: []gpu.Sequence{q}}, func(_ *gpu.StepResult, err error) { steps <- err })
	})
	m.Quiesce(func() { quiet <- len(steps) })
	if n := <-quiet; n != 2 {
		return fmt.Errorf("quiet after %d of 2 steps", n)
	}
	if err := errors.Join(<-steps, <-steps); err != nil {
		return err
	}
	if err := m.Close(); err != nil {
		return err
	}
	if _, err := Step(m, q); err == nil {
		return errors.New("a step of a closed model is not refused")
	}
	return nil
}
