package kernels

import (
	"fmt"
	"io"
	"strconv"

	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/measure"
)

type Report struct {
	Machine     bench.Machine `json:"machine"`
	ReadBytes   int64         `json:"read_bytes"` // of the memory for weights
	Rounds      int           `json:"rounds"`
	Results     []Result      `json:"results"`
	Interrupted bool          `json:"interrupted"` // some are missing
	Notes       measure.Notes `json:"notes,omitempty"`
}

func (p *Report) WriteText(w io.Writer) error {
	rows := [][]string{{"level", "kernel", "form", "m", "shape", "µs", "GB/s", "of bandwidth", "GOP/s", "of peak"}}
	for _, r := range p.Results {
		tokens, operations := "", ""
		if r.Tokens > 0 {
			tokens = strconv.Itoa(r.Tokens)
		}
		if r.OperationsPerSec > 0 {
			operations = fmt.Sprintf("%.1f", r.OperationsPerSec/1e9)
		}
		rows = append(rows, []string{r.Level, r.Kernel, r.Form, tokens, r.Shape, fmt.Sprintf("%.2f", r.Microseconds), fmt.Sprintf("%.1f", r.BytesPerSecond/1e9),
			percent(r.ShareOfRead), operations, percent(r.ShareOfPeak)})
	}
	text := p.Machine.String() + fmt.Sprintf("measured  on one thread, medians of %d rounds (processor time), %.0f MiB of weights\n\n", p.Rounds, float64(p.ReadBytes)/(1<<20)) +
		bench.Markdown(rows, 0, 1, 2, 4) + bench.Remarks(p.Interrupted, "kernels", p.Notes)
	_, err := io.WriteString(w, text)
	return err
}

func percent(share float64) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
