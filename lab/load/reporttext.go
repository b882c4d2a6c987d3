package load

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/measure"
)

func (p *Report) WriteText(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	s := &p.Setup
	row("server", "%s%s", s.URL, s.Server.describe())
	row("work", "%s, seed %d", s.Work, s.Seed)
	row("load", "%s to %s", s.Load, s.Endpoint)
	row("requests", "%s in %.2f s", p.Requests.describe(), p.Seconds)
	for _, f := range p.Requests.Failures {
		row("", "%s failed: %s: %.160s", units.Grouped(f.Count), f.Kind, strings.Join(strings.Fields(f.Example), " "))
	}
	tokens := fmt.Sprintf("%s input", units.Grouped(p.Tokens.Input))
	if p.Tokens.Cached > 0 {
		tokens += fmt.Sprintf(" (%.1f %% cached)", 100*measure.Ratio(float64(p.Tokens.Cached), float64(p.Tokens.Input)))
	}
	row("tokens", "%s, %s output", tokens, units.Grouped(p.Tokens.Output))
	t := &p.Throughput
	row("throughput", "%.2f requests/s, %.1f input tokens/s, %.1f output tokens/s, %.1f tokens/s in total", t.Requests, t.Input, t.Output, t.Total)
	row("concurrency", "%.2f on average, %d at most", p.Concurrency.Mean, p.Concurrency.Peak)
	if g := p.Goodput; g != nil {
		row("goodput", "%.2f requests/s (%.1f %% of all) meet %s", g.PerSecond, 100*g.Share, g.Objectives)
	}
	if a := p.Accuracy; a != nil {
		row("accuracy", "%.1f %% correct: %s right, %s wrong, %s without a number", 100*a.Share, units.Grouped(a.Right), units.Grouped(a.Wrong), units.Grouped(a.NoAnswer))
	}
	row("client", "%.2f cores, %.1f µs of processor time per token", p.Client.Cores, p.Client.PerToken)
	if err := w.Flush(); err != nil {
		return err
	}
	if err := p.writeLatencies(to); err != nil {
		return err
	}
	for _, note := range p.Notes {
		if _, err := fmt.Fprintf(to, "note: %s\n", note); err != nil {
			return err
		}
	}
	return nil
}

func (p *Report) writeLatencies(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nms\tmean\tp50\tp90\tp99\tmax\t\n")
	for _, l := range []struct {
		name string
		*measure.Latency
	}{{"TTFT", &p.TTFT}, {"TPOT", &p.TPOT}, {"ITL", &p.ITL}, {"E2E", &p.E2E}, {"send delay", p.SendDelay}} {
		switch {
		case l.Latency == nil:
		case l.Count == 0:
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t\n", l.name)
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", l.name, ms(l.Mean), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.Max))
		}
	}
	return w.Flush()
}

func (q *Requests) describe() string {
	text := units.Grouped(q.Finished) + " finished"
	if q.Failed > 0 {
		text += ", " + units.Grouped(q.Failed) + " failed"
	}
	if q.CutOff > 0 {
		text += ", " + units.Grouped(q.CutOff) + " cut off"
	}
	return text
}

// ms writes milliseconds with about four digits.
func ms(v float64) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
