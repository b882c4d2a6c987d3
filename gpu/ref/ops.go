package ref

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

func (s *step) embed(op gpu.Embed) {
	for i, t := range s.tokens {
		out := s.row(op.Out, i)
		copy(out, s.weights[op.Table][int(t.id)*len(out):])
	}
}

func (s *step) rmsNorm(op gpu.RMSNorm) {
	gain := s.weights[op.Gain]
	for i := range s.rows(op.In) {
		in, out := s.row(op.In, i), s.row(op.Out, i)
		for g := 0; g < len(in); g += op.Group {
			var sum float64
			for _, x := range in[g : g+op.Group] {
				sum += float64(x) * float64(x)
			}
			scale := 1 / math.Sqrt(sum/float64(op.Group)+float64(op.Eps))
			for j := range op.Group {
				out[g+j] = float32(float64(in[g+j]) * scale * float64(gain[j]))
			}
		}
	}
}

func (s *step) linear(op gpu.Linear) {
	w := s.weights[op.W]
	for i := range s.rows(op.In) {
		in, out := s.row(op.In, i), s.row(op.Out, i)
		for o := range out {
			var sum float64
			for j, x := range in {
				sum += float64(x) * float64(w[o*len(in)+j])
			}
			if op.Bias != gpu.NoWeight {
				sum += float64(s.weights[op.Bias][o])
			}
			if op.Accumulate {
				sum += float64(out[o])
			}
			out[o] = float32(sum)
		}
	}
}

func (s *step) rope(op gpu.Rope) {
	half := len(op.InvFreq)
	for i, t := range s.tokens {
		x := s.row(op.X, i)
		for h := 0; h < len(x); h += op.HeadDim {
			for j, f := range op.InvFreq {
				sin, cos := math.Sincos(float64(t.position) * f)
				sin, cos = float64(float32(sin)), float64(float32(cos))
				a, b := float64(x[h+j]), float64(x[h+j+half])
				x[h+j] = float32((a*cos - b*sin) * float64(op.Scale))
				x[h+j+half] = float32((b*cos + a*sin) * float64(op.Scale))
			}
		}
	}
}

func (s *step) storeKV(op gpu.StoreKV) {
	for i, t := range s.tokens {
		k, v := s.row(op.K, i), s.row(op.V, i)
		at, dim := s.slot(t.seq, t.position)*len(k), s.program.KV.HeadDim
		for h := 0; h < len(k); h += dim {
			round(s.pool.DType, s.keys[op.Layer][at+h:at+h+dim], k[h:h+dim])
			round(s.pool.DType, s.values[op.Layer][at+h:at+h+dim], v[h:h+dim])
		}
	}
}

// round writes what the stored K or V of one head reads back as.
func round(d gpu.DType, out, x []float32) {
	switch d {
	case gpu.F16:
		for i, f := range x {
			out[i] = gpu.FromF16(gpu.ToF16(f))
		}
	case gpu.BF16:
		for i, f := range x {
			out[i] = gpu.FromBF16(gpu.ToBF16(f))
		}
	case gpu.I8:
		codes := make([]int8, len(x))
		scale := QuantizeI8(codes, x)
		DequantizeI8(out, codes, scale)
	default:
		copy(out, x)
	}
}

// tiniest is the least absmax that is not stored as zeros: below it the scale would not
// be a normal number, and 127/absmax would become infinite.
const tiniest = 1.0 / (1 << 119)

// QuantizeI8 is how a KV pool of int8 stores the K or V of one token and head:
//
//	scale = absmax / 127, q = x x (127 / absmax) rounded to nearest, ties to even
//
// all in float32, both quotients rounded once; q is in -127..127. A vector with an
// absmax below 2^-119 is stored as zeros with scale 0, one with NaN or an infinity as
// zeros with scale NaN, so that all of it reads back as NaN. dst is as long as src.
func QuantizeI8(dst []int8, src []float32) (scale float32) {
	dst = dst[:len(src)]
	most := uint32(0) // bits of absmax: they order as the numbers do, NaN above Inf
	for _, x := range src {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	absmax := math.Float32frombits(most)
	if most >= 0x7f800000 || absmax < tiniest {
		clear(dst)
		if absmax < tiniest {
			return 0
		}
		return float32(math.NaN())
	}
	factor := 127 / absmax
	for i, x := range src {
		dst[i] = int8(math.RoundToEven(float64(x * factor)))
	}
	return absmax / 127
}

// DequantizeI8 reads back what QuantizeI8 stored: x = scale x q, rounded once.
func DequantizeI8(dst []float32, src []int8, scale float32) {
	dst = dst[:len(src)]
	for i, q := range src {
		dst[i] = scale * float32(q)
	}
}

func (s *step) attention(op gpu.Attention) {
	dim, kvHeads := s.program.KV.HeadDim, s.program.KV.Heads
	keys, values := s.keys[op.Layer], s.values[op.Layer]
	for i, t := range s.tokens {
		for h := range op.Heads {
			q := s.row(op.Q, i)[h*dim : (h+1)*dim]
			head := h / (op.Heads / kvHeads) * dim
			scores := make([]float64, t.position+1)
			highest := math.Inf(-1)
			for p := range scores {
				k := keys[s.slot(t.seq, p)*kvHeads*dim+head:]
				for j := range q {
					scores[p] += float64(q[j]) * float64(k[j])
				}
				scores[p] *= float64(op.Scale)
				highest = max(highest, scores[p])
			}
			var total float64
			acc := make([]float64, dim)
			for p, x := range scores {
				e := math.Exp(x - highest)
				total += e
				v := values[s.slot(t.seq, p)*kvHeads*dim+head:]
				for j := range acc {
					acc[j] += e * float64(v[j])
				}
			}
			out := s.row(op.Out, i)[h*dim : (h+1)*dim]
			for j := range acc {
				out[j] = float32(acc[j] / total)
			}
		}
	}
}

func (s *step) siluMul(op gpu.SiluMul) {
	for i := range s.rows(op.Gate) {
		gate, up, out := s.row(op.Gate, i), s.row(op.Up, i), s.row(op.Out, i)
		for j, g := range gate {
			x := float64(g)
			out[j] = float32(x / (1 + math.Exp(-x)) * float64(up[j]))
		}
	}
}
