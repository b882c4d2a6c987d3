package route

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// Two routers send requests to the same replicas, and hear of each other's by reports now
// and then. A request goes to a replica that has as few requests of both as any, but for
// what the other router has done since the last report. So they do not pile up.
func TestTwoRoutersDoNotPileUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		replicas := rapid.IntRange(2, 6).Draw(r, "replicas")
		opt := Options{Replicas: replicas, PageSize: 4, Policy: rapid.SampledFrom([]string{CacheAware, LeastLoaded}).Draw(r, "policy")}
		routers := [2]*Router{New(opt), New(opt)}
		total := make([]int, replicas)
		var open [2][]messages.RequestID
		var unheard [2]int // what each has done since the last report
		next := messages.RequestID(0)
		r.Repeat(map[string]func(*rapid.T){
			"route": func(r *rapid.T) {
				mine := rapid.IntRange(0, 1).Draw(r, "router")
				next++
				to, _ := routers[mine].Route(Request{ID: next, Tokens: 16, Pages: pagesOf(int(next), 4)})
				least := total[0]
				for _, n := range total {
					least = min(least, n)
				}
				if n := total[to.Replica]; n > least+unheard[1-mine] {
					r.Fatalf("router %d chooses replica %d with %d requests, of %v, and has not heard of %d", mine, to.Replica, n, total, unheard[1-mine])
				}
				total[to.Replica]++
				open[mine] = append(open[mine], next)
				unheard[mine]++
			},
			"end": func(r *rapid.T) {
				mine := rapid.IntRange(0, 1).Draw(r, "router")
				if len(open[mine]) == 0 {
					r.Skip("it has no request")
				}
				at := rapid.IntRange(0, len(open[mine])-1).Draw(r, "request")
				id := open[mine][at]
				open[mine] = append(open[mine][:at], open[mine][at+1:]...)
				to, _ := routers[mine].Replica(id)
				routers[mine].Ended(id)
				total[to]--
				unheard[mine]++
			},
			"report": func(*rapid.T) {
				for i := range replicas {
					for mine := range routers {
						routers[mine].Reported(i, Report{Others: routers[1-mine].Load(i)})
					}
				}
				unheard = [2]int{}
			},
		})
	})
}
