package kernels

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/bench"
)

// BenchmarkKernels measures what `troupe bench kernels` prints, also for numbers of
// tokens that tiles divide badly.
func BenchmarkKernels(b *testing.B) {
	memory, err := bench.NewMemory(1536<<20, simd.Best())
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Close()
	m := &Meter{Memory: memory.Bytes(), Rounds: 5, Least: 40 * time.Millisecond}
	choice := Choice{Tokens: []int{1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 64, 512}}
	err = choice.Each(memory.Bytes(), func(c Case) error {
		b.Run(fmt.Sprintf("%s/%s/%s/%d", c.Level, c.Kernel, c.Form, c.Tokens), func(b *testing.B) {
			r := m.Measure(c)
			b.ReportMetric(r.Microseconds*1e3, "ns/op")
			b.ReportMetric(r.BytesPerSecond/1e9, "GB/s")
			if r.ShareOfRead > 0 {
				b.ReportMetric(100*r.ShareOfRead, "%read")
			}
			if r.ShareOfPeak > 0 {
				b.ReportMetric(r.OperationsPerSec/1e9, "GOP/s")
				b.ReportMetric(100*r.ShareOfPeak, "%peak")
			}
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
