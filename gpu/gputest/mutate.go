package gputest

import (
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Mutant is a device with one defect, to show that the suite finds it.
type Mutant struct {
	gpu.Device
	Name   string
	Checks string // the prefix of the checks that must find it; "": any
	// op changes one kind of op; nil: none.
	op func(gpu.Op) gpu.Op
	// batch changes a step; nil: none.
	batch func(*gpu.StepBatch)
	// result changes what a step gave; nil: none.
	result func(*gpu.StepBatch, *gpu.StepResult)
	// noCopies: CopyPages does nothing.
	noCopies bool
	// row changes each row of the matrices of type rowsOf; nil: none.
	row    func([]byte)
	rowsOf gpu.DType
	// pool changes the pool asked for; nil: not.
	pool func(gpu.PoolSpec) gpu.PoolSpec
}

// on makes a change of ops of one type.
func on[T gpu.Op](change func(*T)) func(gpu.Op) gpu.Op {
	return func(op gpu.Op) gpu.Op {
		if x, is := op.(T); is {
			change(&x)
			return x
		}
		return op
	}
}

// Mutants gives a device every defect known, one at a time.
func Mutants(d gpu.Device) []Mutant {
	nudge := func(x *float32) { *x = math.Nextafter32(*x, 1e9) }
	list := []Mutant{
		{Name: "norm with another epsilon", op: on(func(o *gpu.RMSNorm) { o.Eps *= 1.01 })},
		{Name: "linear without bias", op: on(func(o *gpu.Linear) { o.Bias = gpu.NoWeight })},
		{Name: "residual overwritten", op: on(func(o *gpu.Linear) { o.Accumulate = false })},
		{Name: "rope scaled", op: on(func(o *gpu.Rope) { o.Scale = 1.01 })},
		{Name: "rope with pairs reversed", op: on(func(o *gpu.Rope) { o.InvFreq = slices.Clone(o.InvFreq); slices.Reverse(o.InvFreq) })},
		{Name: "attention scaled", op: on(func(o *gpu.Attention) { o.Scale *= 1.01 })},
		{Name: "keys stored as values", op: on(func(o *gpu.StoreKV) { o.V = o.K })},
		{Name: "all layers share a pool", op: on(func(o *gpu.StoreKV) { o.Layer = 0 })},
		{Name: "gate and up exchanged", op: on(func(o *gpu.SiluMul) { o.Gate, o.Up = o.Up, o.Gate })},
		{Name: "copies lost", noCopies: true},
		{Name: "rows depend on their number", result: func(b *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Sequences {
				if len(b.Sequences) > 1 && len(r.Sequences[i].Logits) > 0 {
					nudge(&r.Sequences[i].Logits[0][0])
				}
			}
		}},
		{Name: "chunks differ in a bit", result: func(b *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Sequences {
				if n := len(r.Sequences[i].Logits); n > 7 {
					nudge(&r.Sequences[i].Logits[n-1][3])
				}
			}
		}},
		{Name: "log probability off", result: func(_ *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Sequences {
				for j := range r.Sequences[i].Scores {
					r.Sequences[i].Scores[j].Logprob += 1e-3
				}
			}
		}},
	}
	for name, change := range map[string]func(*gpu.SampleSpec){
		"draw at another position": func(s *gpu.SampleSpec) { s.Position++ },
		"choice ignored":           func(s *gpu.SampleSpec) { s.Choice = 0 },
		"temperature off":          func(s *gpu.SampleSpec) { s.Temperature *= 1.05 },
		"top-k off by one":         func(s *gpu.SampleSpec) { s.TopK += min(s.TopK, 1) },
		"top-p off":                func(s *gpu.SampleSpec) { s.TopP *= 0.95 },
		"min-p ignored":            func(s *gpu.SampleSpec) { s.MinP = 0 },
		"mask ignored":             func(s *gpu.SampleSpec) { s.Mask = nil },
		"bias ignored":             func(s *gpu.SampleSpec) { s.Bias = nil },
		"presence penalty off":     func(s *gpu.SampleSpec) { s.PresencePenalty *= 1.2 },
		"frequency penalty off":    func(s *gpu.SampleSpec) { s.FrequencyPenalty *= 1.2 },
		"repetition penalty off":   func(s *gpu.SampleSpec) { s.RepetitionPenalty = 1 + (s.RepetitionPenalty-1)*1.2 },
		"half of the history lost": func(s *gpu.SampleSpec) { s.History = s.History[len(s.History)/2:] },
	} {
		list = append(list, Mutant{Name: name, batch: func(b *gpu.StepBatch) {
			for i, q := range b.Sequences {
				if q.Sample != nil {
					s := *q.Sample
					s.History = slices.Clone(s.History)
					change(&s)
					b.Sequences[i].Sample = &s
				}
			}
		}})
	}
	for i := range list {
		list[i].Device = d
	}
	return list
}

// Load implements gpu.Device.
func (m Mutant) Load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (gpu.Model, error) {
	if m.op != nil {
		changed := *p
		changed.Ops = make([]gpu.Op, len(p.Ops))
		for i, op := range p.Ops {
			changed.Ops[i] = m.op(op)
		}
		p = &changed
	}
	if m.row != nil {
		w = mutantWeights{w, m}
	}
	model, err := m.Device.Load(p, w, progress)
	if err != nil {
		return nil, err
	}
	return mutantModel{model, m}, nil
}

type mutantModel struct {
	gpu.Model
	mutant Mutant
}

// Submit implements gpu.Model.
func (m mutantModel) Submit(batch *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	if m.mutant.batch != nil {
		batch = &gpu.StepBatch{Sequences: slices.Clone(batch.Sequences)}
		m.mutant.batch(batch)
	}
	m.Model.Submit(batch, func(r *gpu.StepResult, err error) {
		if err == nil && m.mutant.result != nil {
			m.mutant.result(batch, r)
		}
		done(r, err)
	})
}

// NewPool implements gpu.Model.
func (m mutantModel) NewPool(spec gpu.PoolSpec) error {
	if m.mutant.pool != nil {
		spec = m.mutant.pool(spec)
	}
	return m.Model.NewPool(spec)
}

// CopyPages implements gpu.Model.
func (m mutantModel) CopyPages(src, dst []int32) error {
	if m.mutant.noCopies {
		return nil
	}
	return m.Model.CopyPages(src, dst)
}
