package ref

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/troupe-engine/troupe/gpu"
)

// Device implements gpu.Device.
type Device struct{}

// New makes a reference device. It has no options and holds nothing.
func New() *Device { return &Device{} }

// Info implements gpu.Device.
func (*Device) Info() gpu.Info {
	return gpu.Info{Kind: "ref", Name: "reference (plain Go)", Fingerprint: "ref/1/" + runtime.GOARCH}
}

// Memory is not known here: a reference serves tests, which size their pools
// themselves.
func (*Device) Memory() (gpu.Memory, error) {
	return gpu.Memory{}, errors.New("the reference device does not measure memory; give the number of tokens (max-total-tokens)")
}

// Load widens all weights to float32.
func (*Device) Load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (gpu.Model, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := &model{program: p, weights: make([][]float32, len(p.Weights))}
	tensors := make([]gpu.Tensor, len(p.Weights))
	var done, total int64
	for i, s := range p.Weights {
		t, err := w.Tensor(s.Name)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", p.Name, err)
		}
		if err := s.Check(t); err != nil {
			return nil, fmt.Errorf("load %s: %w", p.Name, err)
		}
		if t.DType.Quantised() {
			return nil, fmt.Errorf("load %s: tensor %s has type %s; the reference reads f32, f16 and bf16", p.Name, s.Name, t.DType)
		}
		tensors[i] = t
		total += int64(len(t.Data))
	}
	for i, t := range tensors {
		m.weights[i] = widen(t)
		done += int64(len(t.Data))
		if progress != nil {
			progress(done, total)
		}
	}
	return m, nil
}

// widen copies a tensor as float32; exact.
func widen(t gpu.Tensor) []float32 {
	out := make([]float32, len(t.Data)/t.DType.BlockBytes())
	for i := range out {
		switch t.DType {
		case gpu.F32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		case gpu.F16:
			out[i] = gpu.FromF16(binary.LittleEndian.Uint16(t.Data[2*i:]))
		case gpu.BF16:
			out[i] = gpu.FromBF16(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
	}
	return out
}

// round is what a stored K or V reads back as.
func round(d gpu.DType, f float32) float32 {
	switch d {
	case gpu.F16:
		return gpu.FromF16(gpu.ToF16(f))
	case gpu.BF16:
		return gpu.FromBF16(gpu.ToBF16(f))
	}
	return f
}
