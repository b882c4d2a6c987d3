package remote

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// owner is a part of the KV pool, and how the bar shows it.
type owner struct {
	name  string
	mark  string // a cell of the bar
	color string // ANSI
	bytes int64
}

// owners returns the parts in the order of the bar, from in use to free.
func (v *View) owners() []owner {
	m := &v.Memory
	return []owner{
		{"leased", "█", "\x1b[31m", m.Leased},
		{"locked", "▓", "\x1b[33m", m.Locked},
		{"evictable", "▒", "\x1b[36m", m.Evictable},
		{"free", "·", "\x1b[90m", m.Free},
	}
}

// Screen formats a view in lines of at most width characters.
func (v *View) Screen(width int, colour bool) []string {
	const label = 10 // characters
	line := func(name, format string, args ...any) string {
		return Clip(fmt.Sprintf("%-*s%s", label, name, fmt.Sprintf(format, args...)), width)
	}
	state := "ready"
	if !v.Ready {
		state = "NOT READY"
	}
	lines := []string{
		Clip(fmt.Sprintf("troupe top   %s   %s   %s   up %s", v.URL, logtext.Escape(v.Model), state, age(v.Uptime)), width),
		Clip(fmt.Sprintf("rates and latencies of the last %.1f s", v.Window), width),
		"",
		fmt.Sprintf("%-*s%s", label, "KV", v.bar(max(10, min(width-label, 100)), colour)),
	}
	for _, o := range v.owners() {
		lines = append(lines, line("", "%s %-10s %12s tokens %6.1f %%  %s", o.mark, o.name, units.Grouped(v.tokens(o.bytes)), share(o.bytes, v.Memory.Total), units.Bytes(o.bytes)))
	}
	return append(lines,
		line("", "  %-10s %12s tokens           %s; device memory %s of %s", "pool", units.Grouped(v.MaxTokens), units.Bytes(v.Memory.Total),
			units.Bytes(v.Memory.Allocated), units.Bytes(v.Memory.Reserved)),
		"",
		line("requests", "%d running of %d, %d waiting, %d retracted, %d open; %s new/s", v.Requests.Running, v.Requests.MaxRunning,
			v.Requests.Waiting, v.Requests.Retracted, v.Requests.Open, figure(v.Rates.Requests)),
		line("tokens/s", "%s in, %s out, %s evicted; %s steps/s, %s retractions/s", figure(v.Rates.PromptTokens), figure(v.Rates.GenerationTokens),
			figure(v.Rates.EvictedTokens), figure(v.Rates.Steps), figure(v.Rates.Retractions)),
		line("cache", "hit ratio %s (%s since the start); %s radix nodes", percent(v.Cache.Window), percent(v.Cache.SinceStart), units.Grouped(v.Memory.RadixNodes)),
		line("TTFT", "%s", v.TTFT),
		line("ITL", "%s", v.ITL),
	)
}

// Line formats a view in one line, for logs and pipes.
func (v *View) Line() string {
	parts := []string{}
	for _, o := range v.owners() {
		parts = append(parts, fmt.Sprintf("%s %.1f%%", o.name, share(o.bytes, v.Memory.Total)))
	}
	return fmt.Sprintf("kv: %s  requests: %d running, %d waiting, %d retracted  hit %s  tokens/s: %s in, %s out, %s evicted  ttft %s  itl %s",
		strings.Join(parts, ", "), v.Requests.Running, v.Requests.Waiting, v.Requests.Retracted, percent(v.Cache.Window),
		figure(v.Rates.PromptTokens), figure(v.Rates.GenerationTokens), figure(v.Rates.EvictedTokens), v.TTFT.mean(), v.ITL.mean())
}

// bar draws the pool in cells, if possible at least one for each part that is not empty.
func (v *View) bar(cells int, colour bool) string {
	owners := v.owners()
	counts, left := make([]int, len(owners)), cells
	for i, o := range owners {
		if o.bytes > 0 && v.Memory.Total > 0 {
			share := min(float64(o.bytes)/float64(v.Memory.Total), 1) // the server may report anything
			counts[i] = max(1, int(share*float64(cells)))
			left -= counts[i]
		}
	}
	most := slices.Max(counts) // the largest also gets the cells that rounding leaves
	counts[slices.Index(counts, most)] = max(0, most+left)
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

func (v *View) tokens(bytes int64) int64 { return bytes / max(1, v.Memory.BytesPerToken) }

func (l Latency) mean() string {
	if l.Mean == nil {
		return "-"
	}
	return seconds(*l.Mean)
}

func (l Latency) String() string {
	if l.Mean == nil || l.P50 == nil || l.P99 == nil {
		return "no samples"
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

// figure formats a rate with about three digits.
func figure(x float64) string {
	switch {
	case x >= 100:
		return units.Grouped(int64(x + .5))
	case x >= 10 || x == 0:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// seconds formats a duration in seconds.
func seconds(s float64) string {
	switch {
	case s < .001:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f s", s)
}

// age formats a time in seconds as hours, minutes and seconds.
func age(s float64) string { return (time.Duration(s) * time.Second).String() }

// Clip shortens a line to width characters.
func Clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(0, width-1)]) + "…"
}
