//go:build cuda

package cuda

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// held is a weight on the device.
type held struct {
	dtype      gpu.DType // F32, F16 or BF16; F32 for vectors
	rows, cols int       // a vector is one row
	at         int64     // offset in the block of all weights
}

func (h held) rowBytes() int64 { return int64(h.dtype.Bytes(h.cols)) }

func (h held) bytes() int64 { return int64(h.rows) * h.rowBytes() }

// alignment of everything that is placed in a block, in bytes: that of memory transactions.
const alignment = 256

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// widened is why quantised weights are held in another type.
const widened = "the CUDA device multiplies quantised weights as f32"

// heldAs is the type in which a tensor is held.
func heldAs(t gpu.Tensor) gpu.DType {
	if len(t.Shape) == 1 || t.DType.Quantised() {
		return gpu.F32
	}
	return t.DType
}

// place decides how all weights are held, and where. It reads no data of StreamedWeights.
func place(p *gpu.Program, w gpu.Weights) (all []held, plan gpu.WeightPlan, err error) {
	changed := map[gpu.DType]int{}
	for _, s := range p.Weights {
		t, err := describe(w, s)
		if err != nil {
			return nil, plan, err
		}
		h := held{dtype: heldAs(t), rows: 1, cols: s.Shape[len(s.Shape)-1], at: plan.Bytes}
		if len(s.Shape) == 2 {
			h.rows = s.Shape[0]
		}
		all = append(all, h)
		plan.Bytes += aligned(h.bytes())
		if h.rows == 1 || h.dtype == t.DType {
			continue
		}
		i, known := changed[t.DType]
		if !known {
			i = len(plan.Changed)
			changed[t.DType], plan.Changed = i, append(plan.Changed, gpu.HeldWeights{Stored: t.DType, Held: h.dtype, Why: widened})
		}
		plan.Changed[i].Tensors++
		plan.Changed[i].Bytes += h.bytes()
	}
	return all, plan, nil
}

// describe returns type and shape of a weight, checked.
func describe(w gpu.Weights, s gpu.WeightSpec) (gpu.Tensor, error) {
	if stream, ok := w.(gpu.StreamedWeights); ok {
		t, err := stream.Describe(s.Name)
		if err == nil {
			err = s.CheckType(t)
		}
		return t, err
	}
	t, err := w.Tensor(s.Name)
	if err == nil {
		err = s.Check(t)
	}
	return t, err
}

func (d *device) PlanWeights(p *gpu.Program, w gpu.Weights) (gpu.WeightPlan, error) {
	if err := d.Supports(p); err != nil {
		return gpu.WeightPlan{}, err
	}
	_, plan, err := place(p, w)
	if err != nil {
		return gpu.WeightPlan{}, fmt.Errorf("cuda device: cannot plan the memory of the weights of %s: %w", p.Name, err)
	}
	return plan, nil
}
