package quant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

const timed = 1 << 16 // elements, so that all lies in the second-level cache

// MB/s are of stored bytes, as a file is read.
func BenchmarkDequantize(b *testing.B) {
	for _, d := range gpu.WeightDTypes() {
		b.Run(d.String(), func(b *testing.B) {
			src, dst := make([]byte, d.Bytes(timed)), make([]float32, timed)
			if r := rand.New(rand.NewPCG(1, 2)); d.Quantised() {
				quant.Random(d, src, 0.02, r.Uint64)
			} else {
				for i := range dst {
					dst[i] = float32(0.02 * r.NormFloat64())
				}
				quant.Quantize(d, src, dst)
			}
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				quant.Dequantize(d, dst, src)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/timed, "ns/element")
		})
	}
}

// MB/s are of float32 read.
func BenchmarkQuantize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	src := make([]float32, timed)
	for i := range src {
		src[i] = float32(r.NormFloat64())
	}
	for _, d := range gpu.WeightDTypes() {
		if !quant.CanQuantize(d) {
			continue
		}
		b.Run(d.String(), func(b *testing.B) {
			dst := make([]byte, d.Bytes(timed))
			b.SetBytes(4 * timed)
			b.ReportAllocs()
			for b.Loop() {
				quant.Quantize(d, dst, src)
			}
		})
	}
}

// MB/s are of stored bytes.
func BenchmarkFinite(b *testing.B) {
	for _, d := range gpu.WeightDTypes() {
		b.Run(d.String(), func(b *testing.B) {
			src := make([]byte, d.Bytes(timed))
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if !quant.Finite(d, src) {
					b.Fatal("zeros are not finite")
				}
			}
		})
	}
}
