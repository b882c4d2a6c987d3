package cpu

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
)

// matrix is a weight in memory: float32 in f32, or 16-bit elements in u16.
// Vectors have one row.
type matrix struct {
	rows, cols int
	dtype      gpu.DType
	f32        []float32
	u16        []uint16
}

func (m *matrix) bytes() int64 { return 4*int64(len(m.f32)) + 2*int64(len(m.u16)) }

// row widens a row into buf, or is the row itself where it needs no widening.
func (m *matrix) row(i int, buf []float32) []float32 {
	if m.dtype == gpu.F32 {
		return m.f32[i*m.cols : (i+1)*m.cols]
	}
	buf = buf[:m.cols]
	widen(m.dtype, buf, m.u16[i*m.cols:(i+1)*m.cols])
	return buf
}

// loadWeights copies all weights of a program, several at a time.
func loadWeights(p *gpu.Program, w gpu.Weights, o Options, progress func(done, total int64)) ([]matrix, error) {
	tensors := make([]gpu.Tensor, len(p.Weights))
	var total, wide int64
	for i, s := range p.Weights {
		t, err := w.Tensor(s.Name)
		if err != nil {
			return nil, err
		}
		if err := s.Check(t); err != nil {
			return nil, err
		}
		if err := numerics.CheckWeight(t); err != nil {
			return nil, err
		}
		tensors[i] = t
		total += int64(len(t.Data))
		wide += int64(len(t.Data)/t.DType.BlockBytes()) * 4
	}
	out := make([]matrix, len(tensors))
	var done int64
	var next atomic.Int64
	var lock sync.Mutex // over done and calls of progress
	var all sync.WaitGroup
	for range o.Threads {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				out[i] = newMatrix(tensors[i], wide <= o.WidenBelow)
				lock.Lock()
				if done += int64(len(tensors[i].Data)); progress != nil {
					progress(done, total)
				}
				lock.Unlock()
			}
		})
	}
	all.Wait()
	return out, nil
}

// newMatrix copies a tensor; vectors are always widened.
func newMatrix(t gpu.Tensor, wide bool) matrix {
	m := matrix{rows: 1, cols: t.Shape[0], dtype: t.DType}
	if len(t.Shape) == 2 {
		m.rows, m.cols = t.Shape[0], t.Shape[1]
	}
	n := m.rows * m.cols
	if t.DType == gpu.F32 {
		m.f32 = make([]float32, n)
		for i := range m.f32 {
			m.f32[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
		return m
	}
	if len(t.Shape) == 2 && !wide {
		m.u16 = make([]uint16, n)
		for i := range m.u16 {
			m.u16[i] = binary.LittleEndian.Uint16(t.Data[2*i:])
		}
		return m
	}
	m.dtype, m.f32 = gpu.F32, make([]float32, n)
	for i := range m.f32 {
		h := binary.LittleEndian.Uint16(t.Data[2*i:])
		if t.DType == gpu.BF16 {
			m.f32[i] = gpu.FromBF16(h)
		} else {
			m.f32[i] = gpu.FromF16(h)
		}
	}
	return m
}

// widen converts 16-bit elements; exact.
func widen(d gpu.DType, out []float32, in []uint16) {
	in = in[:len(out)]
	if d == gpu.BF16 {
		for i := range out {
			out[i] = math.Float32frombits(uint32(in[i]) << 16)
		}
		return
	}
	table := halves()
	for i, h := range in {
		out[i] = table[h]
	}
}

// halves is every F16 widened: 256 KiB, of which weights use a small part.
var halves = sync.OnceValue(func() *[1 << 16]float32 {
	table := new([1 << 16]float32)
	for h := range table {
		table[h] = gpu.FromF16(uint16(h))
	}
	return table
})

// narrow rounds to 16-bit elements, to nearest even.
func narrow(d gpu.DType, out []uint16, in []float32) {
	out = out[:len(in)]
	if d == gpu.BF16 {
		for i, f := range in {
			out[i] = gpu.ToBF16(f)
		}
		return
	}
	for i, f := range in {
		out[i] = gpu.ToF16(f)
	}
}
