package pages

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// BenchmarkAllocator takes and returns 16 pages.
func BenchmarkAllocator(b *testing.B) {
	a := NewAllocator(1_000_000)
	pages := make([]messages.Page, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		pages, _ = a.Alloc(16, pages[:0])
		a.Release(pages)
	}
}

// BenchmarkAllocatorRuns takes and returns many pages at once, in a run and in
// an order in which no two are consecutive.
func BenchmarkAllocatorRuns(b *testing.B) {
	const n = 8192
	for _, stride := range []int{1, 3} {
		b.Run(fmt.Sprintf("stride=%d", stride), func(b *testing.B) {
			a := NewAllocator(n)
			pages, _ := a.Alloc(n, nil)
			for i := range pages {
				pages[i] = messages.Page(i*stride%n + 1)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.Release(pages)
				pages, _ = a.Alloc(n, pages[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/page")
		})
	}
}
