package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/troupe-engine/troupe/internal/units"
)

// WriteText prints a report: where and what, then a table in Markdown with a
// line for each result.
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
	line("measured", "through %s, %d repetitions after %d for warm-up, seed %d; read bandwidth over %s", map[string]string{"engine": "the engine's actors", "step": "steps of the device", "http": "HTTP with streaming clients"}[p.Setup.Through],
		p.Setup.Repetitions, p.Setup.Warmup, p.Setup.Seed, units.Bytes(p.Setup.ReadBytes))
	b.WriteByte('\n')
	b.WriteString(p.table().String())
	if p.Interrupted {
		b.WriteString("\ninterrupted: some tests are missing\n")
	}
	for _, n := range p.Notes {
		b.WriteString("\nnote: " + n + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Report) table() *Table {
	delays := false
	for _, r := range p.Results {
		delays = delays || r.Delays != nil
	}
	t := &Table{}
	t.Row("model", "threads", "test", "t/s", "median", "MB/token", "GB/s", "of reading")
	t.Left(0, 2)
	if delays {
		t.Add("actor p50 ms", "p99 ms")
	}
	for _, r := range p.Results {
		t.Row(p.Model.Name+" "+p.Model.WeightDType, fmt.Sprint(r.Threads), r.Test,
			fmt.Sprintf("%.2f ± %.2f", r.TokensPerSecond.Mean, r.TokensPerSecond.Std), fmt.Sprintf("%.2f", r.TokensPerSecond.Median))
		if r.BytesPerToken > 0 {
			t.Add(fmt.Sprintf("%.1f", r.BytesPerToken/1e6), fmt.Sprintf("%.1f", r.BytesPerSecond.Median/1e9), fmt.Sprintf("%.1f %%", 100*r.Share.Median))
		} else {
			t.Add("-", "-", "-")
		}
		if delays && r.Delays != nil {
			t.Add(fmt.Sprintf("%.3f", r.Delays.Timer.P50), fmt.Sprintf("%.3f", r.Delays.Timer.P99))
		} else if delays {
			t.Add("-", "-")
		}
	}
	return t
}

// count is a number of parameters for people.
func count(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f B", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f M", n/1e6)
	}
	return fmt.Sprintf("%.0f K", n/1e3)
}
