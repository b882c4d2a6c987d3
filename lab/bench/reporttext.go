package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/internal/units"
)

// WriteText prints where and what, then a table in Markdown with a line for each result.
func (p *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", name, fmt.Sprintf(format, args...))
	}
	b.WriteString(p.Machine.String())
	dtype, random := p.Model.WeightDType, ""
	if p.Model.HeldDType != "" {
		dtype = p.Model.HeldDType + " (stored as " + p.Model.WeightDType + ")"
	}
	if p.Model.Random {
		random = ", random weights"
	}
	line("model", "%s, %s parameters, %s of %s%s; activations in %s, K and V in %s", p.Model.Name, count(float64(p.Model.Parameters)), units.Bytes(p.Model.Bytes), dtype, random, p.Model.Activations, p.Model.KVDType)
	bandwidth := ""
	if p.Setup.ReadBytes > 0 {
		bandwidth = "; bandwidth measured by reading " + units.Bytes(p.Setup.ReadBytes)
	}
	line("measured", "through %s; %d warm-up and %s; seed %d%s", map[string]string{"engine": "the engine's actors", "step": "steps of the device", "http": "HTTP with streaming clients"}[p.Setup.Through],
		p.Setup.Warmup, units.Count(p.Setup.Repetitions, "measured repetition"), p.Setup.Seed, bandwidth)
	b.WriteByte('\n')
	b.WriteString(p.table())
	b.WriteString(Remarks(p.Interrupted, "tests", p.Notes))
	_, err := io.WriteString(w, b.String())
	return err
}

// Remarks are the lines below a table of results.
func Remarks(interrupted bool, results string, notes []string) (text string) {
	if interrupted {
		text = "\ninterrupted: some " + results + " are missing\n"
	}
	for _, n := range notes {
		text += "\nnote: " + n + "\n"
	}
	return text
}

func (p *Report) table() string {
	delays := slices.ContainsFunc(p.Results, func(r Result) bool { return r.Delays != nil })
	onGPU := p.Machine.GPU != "" // it has no threads, and its traffic is not known
	head := []string{"model", "threads", "test", "t/s", "median", "MB/token", "GB/s", "of bandwidth"}
	if onGPU {
		head = []string{"model", "test", "t/s", "median"}
	}
	if delays {
		head = append(head, "actor delay p50 ms", "actor delay p99 ms")
	}
	rows := [][]string{head}
	for _, r := range p.Results {
		row := []string{p.Model.Name + " " + p.Model.WeightDType}
		if !onGPU {
			row = append(row, fmt.Sprint(r.Threads))
		}
		row = append(row, r.Test, fmt.Sprintf("%.2f ± %.2f", r.TokensPerSecond.Mean, r.TokensPerSecond.Std), fmt.Sprintf("%.2f", r.TokensPerSecond.Median))
		switch {
		case onGPU:
		case r.BytesPerToken > 0:
			row = append(row, fmt.Sprintf("%.1f", r.BytesPerToken/1e6), fmt.Sprintf("%.1f", r.BytesPerSecond.Median/1e9), fmt.Sprintf("%.1f %%", 100*r.Share.Median))
		default:
			row = append(row, "-", "-", "-")
		}
		switch {
		case r.Delays != nil:
			row = append(row, fmt.Sprintf("%.3f", r.Delays.Timer.P50), fmt.Sprintf("%.3f", r.Delays.Timer.P99))
		case delays:
			row = append(row, "-", "-")
		}
		rows = append(rows, row)
	}
	return Markdown(rows, 0, slices.Index(head, "test"))
}

// count formats a number of parameters.
func count(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f B", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f M", n/1e6)
	}
	return fmt.Sprintf("%.0f K", n/1e3)
}

// Markdown aligns columns to the right, those in left to the left. The head is first.
func Markdown(rows [][]string, left ...int) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 2) // Markdown needs a dash beside the colon
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w-1) + ":"
	}
	for _, i := range left {
		rule[i] = strings.Repeat("-", widths[i])
		widths[i] = -widths[i] // which Fprintf aligns left
	}
	var b strings.Builder
	for _, r := range slices.Insert(slices.Clone(rows), 1, rule) {
		for i, cell := range r {
			fmt.Fprintf(&b, "| %*s ", widths[i], cell)
		}
		b.WriteString("|\n")
	}
	return b.String()
}
