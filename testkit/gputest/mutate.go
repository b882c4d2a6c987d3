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
	// result changes the result of a step; nil: none.
	result func(*gpu.StepBatch, *gpu.StepResult)
	// wrap is put around the model; nil: nothing.
	wrap func(gpu.Model) gpu.Model
	// row changes each row of the matrices of type rowsOf; nil: none.
	row    func([]byte)
	rowsOf gpu.DType
	// pool changes the spec of the pool; nil: none.
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

// Mutants are a device with one known defect each.
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
		{Name: "rows depend on their number", result: func(b *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Rows {
				if len(b.Work) > 1 && len(r.Rows[i].Logits) > 0 {
					nudge(&r.Rows[i].Logits[0][0])
				}
			}
		}},
		{Name: "chunks differ in a bit", result: func(b *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Rows {
				if n := len(r.Rows[i].Logits); n > 7 {
					nudge(&r.Rows[i].Logits[n-1][3])
				}
			}
		}},
		{Name: "log probability off", result: func(_ *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Rows {
				for j := range r.Rows[i].Scores {
					r.Rows[i].Scores[j].Chosen.Logprob += 1e-3
				}
			}
		}},
	}
	for name, change := range map[string]func(*gpu.RowOpened){
		"choice ignored":            func(o *gpu.RowOpened) { o.Sampling.Choice = 0 },
		"temperature off":           func(o *gpu.RowOpened) { o.Sampling.Temperature *= 1.05 },
		"top-k off by one":          func(o *gpu.RowOpened) { o.Sampling.TopK += min(o.Sampling.TopK, 1) },
		"top-p off":                 func(o *gpu.RowOpened) { o.Sampling.TopP *= 0.95 },
		"min-p ignored":             func(o *gpu.RowOpened) { o.Sampling.MinP = 0 },
		"end tokens ignored":        func(o *gpu.RowOpened) { o.Sampling.MinTokens = 0 },
		"end tokens kept for long":  func(o *gpu.RowOpened) { o.Sampling.MinTokens++ },
		"bias ignored":              func(o *gpu.RowOpened) { o.Sampling.Bias = nil },
		"presence penalty off":      func(o *gpu.RowOpened) { o.Sampling.PresencePenalty *= 1.2 },
		"frequency penalty off":     func(o *gpu.RowOpened) { o.Sampling.FrequencyPenalty *= 1.2 },
		"repetition penalty off":    func(o *gpu.RowOpened) { o.Sampling.RepetitionPenalty = 1 + (o.Sampling.RepetitionPenalty-1)*1.2 },
		"output taken for a prompt": func(o *gpu.RowOpened) { o.Prompt, o.Output = slices.Concat(o.Prompt, o.Output), nil },
		"scores begin late":         func(o *gpu.RowOpened) { o.Score.From++ },
	} {
		list = append(list, Mutant{Name: name, batch: func(b *gpu.StepBatch) {
			b.Opened = slices.Clone(b.Opened)
			for i := range b.Opened {
				change(&b.Opened[i])
			}
		}})
	}
	list = append(list,
		Mutant{Name: "grammar ignored", batch: func(b *gpu.StepBatch) {
			b.Work = slices.Clone(b.Work)
			for i := range b.Work {
				b.Work[i].Mask = nil
			}
		}},
		Mutant{Name: "a certain token changed", batch: func(b *gpu.StepBatch) {
			b.Work = slices.Clone(b.Work)
			for i := range b.Work {
				if n := len(b.Work[i].Forced); n > 0 {
					b.Work[i].Forced = append(slices.Clone(b.Work[i].Forced[:n-1]), 0)
				}
			}
		}},
		Mutant{Name: "a late row not reported", result: func(_ *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Rows {
				r.Rows[i].Late = false
			}
		}},
		Mutant{Name: "replaced pages ignored", batch: func(b *gpu.StepBatch) { b.Replaced = nil }},
		Mutant{Name: "a row's failure lost", result: func(_ *gpu.StepBatch, r *gpu.StepResult) {
			for i := range r.Rows {
				if r.Rows[i].Err != nil {
					r.Rows[i].Err, r.Rows[i].Tokens = nil, []int32{0}
				}
			}
		}},
	)
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
	if m.wrap != nil {
		model = m.wrap(model)
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
		changed := *batch
		batch = &changed
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
