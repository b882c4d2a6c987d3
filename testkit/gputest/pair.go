package gputest

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
)

// pair is a program on a device and on gpu/ref. The caller of loadPair closes it.
type pair struct{ model, reference gpu.Model }

// loadPair loads a program on both and makes its pools.
func loadPair(d gpu.Device, p *gpu.Program, w gpu.Weights, spec gpu.PoolSpec) (pair, error) {
	model, err := Load(d, p, w, spec)
	if err != nil {
		return pair{}, err
	}
	reference, err := Load(ref.New(), p, w, spec)
	if err != nil {
		model.Close()
		return pair{}, fmt.Errorf("ref: %w", err)
	}
	return pair{model, reference}, nil
}

func (p pair) close() {
	p.model.Close()
	p.reference.Close()
}

// step runs parts on both.
func (p pair) step(parts ...Part) (got, want []gpu.RowResult, err error) {
	return p.run(Batch(parts...))
}

// fresh is step with all other rows closed.
func (p pair) fresh(parts ...Part) (got, want []gpu.RowResult, err error) {
	return p.run(FreshBatch(parts...))
}

func (p pair) run(b *gpu.StepBatch) (got, want []gpu.RowResult, err error) {
	if got, err = Run(p.model, b); err != nil {
		return nil, nil, err
	}
	if want, err = Run(p.reference, b); err != nil {
		return nil, nil, fmt.Errorf("ref: %w", err)
	}
	return got, want, nil
}
