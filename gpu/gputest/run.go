package gputest

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// Step runs a batch and waits for it.
func Step(m gpu.Model, sequences ...gpu.Sequence) ([]gpu.SequenceResult, error) {
	type end struct {
		result *gpu.StepResult
		err    error
	}
	ended := make(chan end, 1)
	m.Submit(&gpu.StepBatch{Sequences: sequences}, func(r *gpu.StepResult, err error) { ended <- end{r, err} })
	e := <-ended
	if e.err != nil {
		return nil, e.err
	}
	if len(e.result.Sequences) != len(sequences) {
		return nil, fmt.Errorf("%d results for %d sequences", len(e.result.Sequences), len(sequences))
	}
	return e.result.Sequences, nil
}

// Load loads a program and makes its pool.
func Load(d gpu.Device, p *gpu.Program, w gpu.Weights, spec gpu.PoolSpec) (gpu.Model, error) {
	m, err := d.Load(p, w, nil)
	if err != nil {
		return nil, err
	}
	if err := m.NewPool(spec); err != nil {
		return nil, err
	}
	return m, nil
}

// Poison fills every slot of a pool with NaN by computing the last token of an
// untied program there.
func Poison(m gpu.Model, p *gpu.Program, spec gpu.PoolSpec) error {
	tokens := make([]int32, min(spec.PageSize, p.Context))
	for i := range tokens {
		tokens[i] = int32(p.Vocab - 1)
	}
	for page := 0; page < spec.Pages; {
		var batch []gpu.Sequence
		for ; page < spec.Pages && len(batch)*len(tokens) < 512; page++ {
			batch = append(batch, gpu.Sequence{Pages: []int32{int32(page + 1)}, Tokens: tokens})
		}
		if _, err := Step(m, batch...); err != nil {
			return fmt.Errorf("poison pages up to %d: %w", page, err)
		}
	}
	return nil
}
