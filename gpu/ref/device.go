package ref

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/gpu/rows"
	"github.com/troupe-engine/troupe/gpu/stepqueue"
)

type Device struct {
	// Alter, if not nil, changes the sequences of each step before they are computed:
	// the tests of the test suite make defects with it.
	Alter func([]rows.Sequence)
}

// New makes a reference device. It holds nothing.
func New() *Device { return &Device{} }

func (*Device) Info() gpu.Info {
	return gpu.Info{
		Kind: "ref", Name: "reference (plain Go)", Fingerprint: "ref/1/" + runtime.GOARCH,
		Numerics: gpu.Numerics{Weights: gpu.WeightDTypes(), KV: gpu.KVDTypes()},
	}
}

// Memory is not known: a reference is for tests, which size their pools themselves.
func (*Device) Memory() (gpu.Memory, error) {
	return gpu.Memory{}, errors.New("the reference device cannot determine the available memory; it is for tests, which set the size of the KV pool")
}

func (*Device) Supports(p *gpu.Program) error { return p.Supported("ref", has) }

func (d *Device) PlanWeights(p *gpu.Program, w gpu.Weights) (gpu.WeightPlan, error) {
	plan := gpu.WeightPlan{}
	if err := d.Supports(p); err != nil {
		return plan, err
	}
	for _, s := range p.Weights {
		plan.Bytes += 4 * int64(gpu.Elements(s.Shape))
	}
	return plan, nil
}

// Load decodes all weights to float32.
func (d *Device) Load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (gpu.Model, error) {
	if err := d.Supports(p); err != nil {
		return nil, err
	}
	m := &model{program: p, weights: make([][]float32, len(p.Weights)), alter: d.Alter}
	tensors := make([]gpu.Tensor, len(p.Weights))
	var done, total int64
	for i, s := range p.Weights {
		t, err := w.Tensor(s.Name)
		if err != nil {
			return nil, fmt.Errorf("cannot load %s: %w", p.Name, err)
		}
		if err := s.Check(t); err != nil {
			return nil, fmt.Errorf("cannot load %s: %w", p.Name, err)
		}
		tensors[i] = t
		total += int64(len(t.Data))
	}
	for i, t := range tensors {
		rows := 1
		if len(t.Shape) == 2 {
			rows = t.Shape[0]
		}
		for r, size := 0, len(t.Data)/rows; r < rows; r++ {
			if err := quant.CheckRow(w, t, r, t.DType, t.Data[r*size:(r+1)*size]); err != nil {
				return nil, fmt.Errorf("cannot load %s: %w", p.Name, err)
			}
		}
		m.weights[i] = make([]float32, gpu.Elements(t.Shape))
		quant.Dequantize(t.DType, m.weights[i], t.Data)
		done += int64(len(t.Data))
		if progress != nil {
			progress(done, total)
		}
	}
	m.Queue = stepqueue.New(m.step)
	return m, nil
}
