package attn

import (
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/expf"
)

// elements is n float32 at a byte offset.
func elements(base *byte, at, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(base), at)), n)
}

func onlyF32(t KV) {
	if t != F32 {
		panic("attn: plain Go attends to keys and values of float32 only; widen them")
	}
}

// scoresPortable takes eight positions at a time: that many sums fit the registers.
func scoresPortable(t KV, q []float32, base *byte, runs []Run, out []float32) {
	onlyF32(t)
	for i, run := range runs {
		keys := elements(base, run.At, len(q)*RunSlots)
		for half := 0; half < RunSlots; half += 8 {
			var s0, s1, s2, s3, s4, s5, s6, s7 float32
			for d, x := range q {
				k := (*[8]float32)(keys[d*RunSlots+half:])
				s0 += float32(k[0] * x)
				s1 += float32(k[1] * x)
				s2 += float32(k[2] * x)
				s3 += float32(k[3] * x)
				s4 += float32(k[4] * x)
				s5 += float32(k[5] * x)
				s6 += float32(k[6] * x)
				s7 += float32(k[7] * x)
			}
			*(*[8]float32)(out[i*RunSlots+half:]) = [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
		}
	}
}

// valuesPortable takes four positions at a time, with the same result as one by one.
func valuesPortable(t KV, p []float32, base *byte, runs *Runs, from, n int, acc []float32) {
	onlyF32(t)
	dim := len(acc)
	for end := from + n; from < end; {
		skip := from % RunSlots
		count := min(RunSlots-skip, end-from)
		v := elements(base, runs[from/RunSlots].At+4*skip*dim, count*dim)
		w := p[from : from+count]
		for ; len(w) >= 4; w, v = w[4:], v[4*dim:] {
			p0, p1, p2, p3 := w[0], w[1], w[2], w[3]
			v0, v1, v2, v3 := v[:dim], v[dim:2*dim], v[2*dim:3*dim], v[3*dim:4*dim]
			for i, x := range acc {
				x += float32(p0 * v0[i])
				x += float32(p1 * v1[i])
				x += float32(p2 * v2[i])
				x += float32(p3 * v3[i])
				acc[i] = x
			}
		}
		for ; len(w) > 0; w, v = w[1:], v[dim:] {
			for i, x := range v[:dim] {
				acc[i] += float32(w[0] * x)
			}
		}
		from += count
	}
}

func softmaxPortable(s []float32, seen []int32, scale float32, keyScales, valueScales []float32, w Weights) {
	for r, n := range seen {
		row := s[r*BlockSlots:][:n]
		peak := w.Max[r]
		for i := range row {
			row[i] = float32(row[i] * scale)
			if keyScales != nil {
				row[i] = float32(row[i] * keyScales[i])
			}
			peak = max(peak, row[i])
		}
		shrink := [1]float32{w.Max[r] - peak}
		expf.Of(shrink[:])
		for i := range row {
			row[i] -= peak
		}
		expf.Of(row)
		var sum float32
		for _, x := range row {
			sum += x
		}
		for i := range row {
			if valueScales != nil {
				row[i] = float32(row[i] * valueScales[i])
			}
		}
		w.Max[r], w.Rescale[r] = peak, shrink[0]
		w.Sums[r] = float32(w.Sums[r]*shrink[0]) + sum
	}
}
