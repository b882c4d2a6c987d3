package replay

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/measure"
)

func (r *Report) WriteText(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	s := &r.Setup
	where, each := fmt.Sprintf("%s on %s", s.Model, s.GPU), ""
	if s.Replicas > 1 {
		where, each = fmt.Sprintf("%s, %d engines, %s routing", where, s.Replicas, s.Routing), " each"
	}
	if s.Gateways > 0 {
		where = fmt.Sprintf("%s, %d gateways, event delay %s", where, s.Gateways, Clock(s.EventDelay))
	}
	fmt.Fprintf(w, "%s\n", where)
	fmt.Fprintf(w, "KV pool\t%s tokens in pages of %d%s, eviction %s, policy %s\n", units.Grouped(s.KVTokens), s.PageSize, each, s.Eviction, s.Policy)
	fmt.Fprintf(w, "requests\t%s finished", units.Grouped(r.Requests.Finished))
	if r.Requests.Refused > 0 {
		fmt.Fprintf(w, ", %s refused", units.Grouped(r.Requests.Refused))
	}
	if r.Requests.HeldBack > 0 {
		fmt.Fprintf(w, ", %s entered the queue late, because too many tokens were waiting", units.Grouped(r.Requests.HeldBack))
	}
	if r.Requests.Moved > 0 {
		fmt.Fprintf(w, ", %s moved to another engine", units.Grouped(r.Requests.Moved))
	}
	fmt.Fprintf(w, " in %s of virtual time\n", Clock(r.Throughput.Seconds))
	fmt.Fprintf(w, "tokens\t%s of prompts, %s generated\n", units.Grouped(r.Tokens.Prompt), units.Grouped(r.Tokens.Output))
	fmt.Fprintf(w, "cache\t%.2f %% of prompt tokens cached, %s tokens evicted\n", 100*r.Cache.HitRatio, units.Grouped(r.Cache.EvictedTokens))
	fmt.Fprintf(w, "throughput\t%.1f input and %.1f output tokens/s, %.2f requests/s\n", r.Throughput.Input, r.Throughput.Output, r.Throughput.Requests)
	fmt.Fprintf(w, "steps\t%s, %s retractions, devices busy %.1f %% of the time\n", units.Grouped(r.Steps.Count), units.Grouped(r.Steps.Retractions), 100*r.Steps.BusyShare)
	fmt.Fprintf(w, "waiting\t%.1f requests on average, at most %s\n", r.Queue.MeanWaiting, units.Grouped(r.Queue.MaxWaiting))
	fmt.Fprintf(w, "running\t%.1f requests on average, at most %s\n\n", r.Queue.MeanRunning, units.Grouped(r.Queue.MaxRunning))
	fmt.Fprintf(w, "\tmean\tp50\tp90\tp99\tmax\n")
	for _, l := range []struct {
		name string
		measure.Latency
	}{{"TTFT", r.TTFT}, {"ITL", r.ITL}, {"E2E", r.E2E}} {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.name, Clock(l.Mean), Clock(l.P50), Clock(l.P90), Clock(l.P99), Clock(l.Max))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "note: %s\n", warning)
	}
	return w.Flush()
}

// Clock writes seconds with three digits or so.
func Clock(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
