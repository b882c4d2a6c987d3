package replay

import (
	"testing"
	"time"
)

// BenchmarkReplay is the time of the simulation per step of an engine, made-up
// prompts, cores and cost model together.
func BenchmarkReplay(b *testing.B) {
	for name, replicas := range map[string]int{"1": 1, "16": 16} {
		b.Run("replicas="+name, func(b *testing.B) {
			opt := small(b)
			opt.Replicas = replicas
			b.ReportAllocs()
			steps, requests := 0, 0
			for b.Loop() {
				r := run(b, conversations(1, 100, 5, 20*time.Millisecond), opt)
				steps += r.Steps.Count
				requests += r.Requests.Finished
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(requests), "us/request")
		})
	}
}
