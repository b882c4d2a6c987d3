package bench

import (
	"fmt"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/lab/load"
)

// showLoad shows a status line for a load until stop; total is 0 if it is not known.
func showLoad(live *load.Live, total int) (stop func()) {
	status, ticks, over := cli.NewStatus(), time.Tick(250*time.Millisecond), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		before, at := live.Read(), time.Now()
		for {
			select {
			case <-over:
				status.Clear()
				return
			case now := <-ticks:
				r := live.Read()
				status.Show("%s", loadLine(before, r, now.Sub(at), total))
				before, at = r, now
			}
		}
	})
	return func() {
		close(over)
		shown.Wait()
	}
}

// loadLine describes what happened between two readings.
func loadLine(before, now load.Reading, window time.Duration, total int) string {
	line := fmt.Sprintf("%d", now.Finished)
	if total > 0 {
		line += fmt.Sprintf("/%d", total)
	}
	line += fmt.Sprintf(" finished, %d running", now.Running)
	if now.Failed > 0 {
		line += fmt.Sprintf(", %d failed", now.Failed)
	}
	line += fmt.Sprintf(", %.0f tokens/s", float64(now.Tokens-before.Tokens)/window.Seconds())
	if now.TTFT > 0 {
		line += fmt.Sprintf(", TTFT p50 %.1f ms", float64(now.TTFT)/1e6)
	}
	return line
}
