package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/lab/figures"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// owners are the states of a KV page in the order of the bar: what is needed
// now first, what is to be had last.
type owner struct {
	name  string
	mark  string // a cell of the bar
	color string // ANSI
	bytes int64
}

func (v *view) owners() []owner {
	m := &v.Memory
	return []owner{
		{"leased", "█", "\x1b[31m", m.Leased},
		{"locked", "▓", "\x1b[33m", m.Locked},
		{"evictable", "▒", "\x1b[36m", m.Evictable},
		{"free", "·", "\x1b[90m", m.Free},
	}
}

// frame draws a view in lines of at most width characters.
func (v *view) frame(width int, colour bool) []string {
	const label = 10 // characters
	line := func(name, format string, args ...any) string {
		return clip(fmt.Sprintf("%-*s%s", label, name, fmt.Sprintf(format, args...)), width)
	}
	state := "ready"
	if !v.Ready {
		state = "NOT READY"
	}
	lines := []string{
		clip(fmt.Sprintf("troupe top   %s   %s   %s   up %s", v.URL, logtext.Escape(v.Model), state, age(v.Uptime)), width),
		clip(fmt.Sprintf("rates and latencies of the last %.1f s", v.Window), width),
		"",
		fmt.Sprintf("%-*s%s", label, "KV", v.bar(max(10, min(width-label, 100)), colour)),
	}
	for _, o := range v.owners() {
		lines = append(lines, line("", "%s %-10s %12s tokens %6.1f %%  %s", o.mark, o.name, figures.Grouped(v.tokens(o.bytes)), share(o.bytes, v.Memory.Total), amount(o.bytes, "bytes")))
	}
	return append(lines,
		line("", "  %-10s %12s tokens           %s; device holds %s of %s", "pool", figures.Grouped(v.tokensTotal), amount(v.Memory.Total, "bytes"),
			amount(v.Memory.Allocated, "bytes"), amount(v.Memory.Reserved, "bytes")),
		"",
		line("requests", "%d running of %d, %d waiting, %d retracted, %d open; %s/s come in", v.Requests.Running, v.Requests.MaxRunning,
			v.Requests.Waiting, v.Requests.Retracted, v.Requests.Open, figure(v.Rates.Requests)),
		line("tokens/s", "%s in, %s out, %s evicted; %s steps/s, %s retractions/s", figure(v.Rates.PromptTokens), figure(v.Rates.GenerationTokens),
			figure(v.Rates.EvictedTokens), figure(v.Rates.Steps), figure(v.Rates.Retractions)),
		line("cache", "hit ratio %s, %s since the start; %s radix nodes", percent(v.Cache.Window), percent(v.Cache.SinceStart), figures.Grouped(v.Memory.RadixNodes)),
		line("TTFT", "%s", v.TTFT),
		line("ITL", "%s", v.ITL),
	)
}

// plain is the view in one line, for logs and pipes.
func (v *view) plain() string {
	parts := []string{}
	for _, o := range v.owners() {
		parts = append(parts, fmt.Sprintf("%s %.1f%%", o.name, share(o.bytes, v.Memory.Total)))
	}
	mean := func(l latency) string {
		if l.Mean == nil {
			return "-"
		}
		return seconds(*l.Mean)
	}
	return fmt.Sprintf("kv: %s  requests: %d running, %d waiting, %d retracted  hit %s  tokens/s: %s in, %s out, %s evicted  ttft %s  itl %s",
		strings.Join(parts, ", "), v.Requests.Running, v.Requests.Waiting, v.Requests.Retracted, percent(v.Cache.Window),
		figure(v.Rates.PromptTokens), figure(v.Rates.GenerationTokens), figure(v.Rates.EvictedTokens), mean(v.TTFT), mean(v.ITL))
}

// bar shows the owners of the pool in cells. Whoever has a byte has a cell, if
// there are enough.
func (v *view) bar(cells int, colour bool) string {
	owners := v.owners()
	counts, left := make([]int, len(owners)), cells
	for i, o := range owners {
		if o.bytes > 0 && v.Memory.Total > 0 {
			share := min(float64(o.bytes)/float64(v.Memory.Total), 1) // whatever the server says
			counts[i] = max(1, int(share*float64(cells)))
			left -= counts[i]
		}
	}
	most := 0 // rounding goes to the biggest
	for i := range counts {
		if counts[i] > counts[most] {
			most = i
		}
	}
	counts[most] = max(0, counts[most]+left)
	var b strings.Builder
	for i, o := range owners {
		if counts[i] == 0 {
			continue
		}
		cell := strings.Repeat(o.mark, counts[i])
		if colour {
			cell = o.color + cell + "\x1b[0m"
		}
		b.WriteString(cell)
	}
	return b.String()
}

func (v *view) tokens(bytes int64) int64 { return bytes / max(1, v.Memory.BytesPerToken) }

// String words a latency.
func (l latency) String() string {
	if l.Mean == nil || l.P50 == nil || l.P99 == nil {
		return "no sample"
	}
	return fmt.Sprintf("mean %s, p50 %s, p99 %s, %d samples", seconds(*l.Mean), seconds(*l.P50), seconds(*l.P99), l.Count)
}

func share(part, total int64) float64 { return 100 * float64(part) / float64(max(1, total)) }

func percent(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**ratio)
}

// figure shows a rate with three digits or so.
func figure(x float64) string {
	switch {
	case x >= 100:
		return figures.Grouped(int64(x + .5))
	case x >= 10 || x == 0:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// seconds shows a duration given in seconds.
func seconds(s float64) string {
	switch {
	case s < .001:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f s", s)
}

// age shows a time in seconds as people say it.
func age(s float64) string { return (time.Duration(s) * time.Second).String() }

// clip cuts a line at so many characters.
func clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(0, width-1)]) + "…"
}
