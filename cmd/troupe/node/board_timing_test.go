package node

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkOpenBoard compares decoding with and without a reader of the board, turn by turn
// in one run. The reader discards what it gets.
func BenchmarkOpenBoard(b *testing.B) {
	const rows = 16
	c := settings(b)
	c.Pool.MaxTotalTokens, c.DisableRadixCache = 1<<16, true
	n := open(b, c, nil)
	server := httptest.NewServer(n.API().Handler())
	defer server.Close()
	// turn is the time per token of a second of decoding.
	turn := func(seed int, watched bool) float64 {
		ctx, stop := context.WithCancel(b.Context())
		closed := make(chan struct{})
		if watched {
			r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/board", nil)
			if err != nil {
				b.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			go func() {
				defer close(closed)
				_, _ = io.Copy(io.Discard, resp.Body) // ends with ctx
				resp.Body.Close()
			}()
		} else {
			close(closed)
		}
		start, tokens := time.Now(), 0
		for i := 0; time.Since(start) < time.Second; i++ {
			tokens += generate(b, n, rows, seed*1000+i, true)
		}
		took := time.Since(start).Seconds() / float64(tokens)
		stop()
		<-closed
		return took
	}
	turn(0, true)
	var ratios []float64
	sum := [2]float64{}
	for seed := 1; b.Loop(); seed++ {
		var took [2]float64
		for i := range took {
			watched := (seed+i)%2 == 0
			took[map[bool]int{true: 1}[watched]] = turn(2*seed+i, watched)
		}
		sum[0], sum[1] = sum[0]+1/took[0], sum[1]+1/took[1]
		ratios = append(ratios, took[0]/took[1])
	}
	b.ReportMetric(sum[0]/float64(len(ratios)), "tok/s-closed")
	b.ReportMetric(sum[1]/float64(len(ratios)), "tok/s-open")
	b.ReportMetric(median(ratios), "tok/s-ratio")
}
