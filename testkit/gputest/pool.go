package gputest

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// Pool completes a spec with limits that no test of a program reaches.
func Pool(p *gpu.Program, spec gpu.PoolSpec) gpu.PoolSpec {
	for _, f := range []struct {
		field *int
		value int
	}{{&spec.Rows, 128}, {&spec.Context, p.Context}, {&spec.StepTokens, 1 << 12}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return spec
}

// Load loads a program and makes its pool, with limits as in Pool.
func Load(d gpu.Device, p *gpu.Program, w gpu.Weights, spec gpu.PoolSpec) (gpu.Model, error) {
	m, err := d.Load(p, w, nil)
	if err != nil {
		return nil, err
	}
	if err := m.NewPool(Pool(p, spec)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Poison fills every slot of a pool with NaN by computing the last token of an
// untied program there. It leaves no row open.
func Poison(m gpu.Model, p *gpu.Program, spec gpu.PoolSpec) error {
	tokens := make([]int32, min(spec.PageSize, p.Context))
	for i := range tokens {
		tokens[i] = int32(p.Vocab - 1)
	}
	for page := 0; page < spec.Pages; {
		var parts []Part
		for ; page < spec.Pages && len(parts) < 128 && len(parts)*len(tokens) < 512; page++ {
			parts = append(parts, Whole(tokens, []int32{int32(page + 1)}))
		}
		if _, err := Fresh(m, parts...); err != nil {
			return fmt.Errorf("poison pages up to %d: %w", page, err)
		}
	}
	_, err := Run(m, &gpu.StepBatch{Reset: true})
	return err
}
