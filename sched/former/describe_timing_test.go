package former

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// BenchmarkDescribe is the batch former's part of a snapshot: 64 requests lease a pool of
// 2^20 pages, each one run of pages, or pages of which no two are neighbours.
func BenchmarkDescribe(b *testing.B) {
	const pages, requests = 1 << 20, 64
	perm := rand.New(rand.NewPCG(1, 2)).Perm(pages)
	for name, page := range map[string]func(i int) int{"contiguous": func(i int) int { return i }, "fragmented": func(i int) int { return perm[i] }} {
		opt := &Options{PageSize: 1, Pages: pages}
		c := &Core{opt: opt, batch: newBatch(opt)}
		for i := range requests {
			s := &sequence{req: &messages.EngineRequest{}, state: decoding}
			for k := i * pages / requests; k < (i+1)*pages/requests; k++ {
				s.lease.Pages = append(s.lease.Pages, messages.Page(page(k)+1))
			}
			c.batch.running = append(c.batch.running, s)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := &messages.Snapshot{}
				c.describePages(s)
				c.describeRequests(s)
				if s.Close(messages.PageCount{Leased: pages, Total: pages}); s.Fault != "" {
					b.Fatal(s.Fault)
				}
				b.ReportMetric(float64(s.Runs), "runs")
			}
		})
	}
}
