// Package plot draws pages by owner, latencies and queue lengths of an engine over time,
// as SVG or PNG, with gonum's plotter. Equal samples make equal bytes, to compare runs.
package plot

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // png
	_ "gonum.org/v1/plot/vg/vgsvg" // svg
)

// Sample is the state of an engine, or of several together, at one time.
type Sample struct {
	Seconds float64 `json:"seconds"` // since the beginning; ascending
	// Pages of the pool by owner: locked are cached and in use, leased private.
	Free      float64 `json:"free_pages"`
	Evictable float64 `json:"evictable_pages"`
	Locked    float64 `json:"locked_pages"`
	Leased    float64 `json:"leased_pages"`
	Waiting   float64 `json:"waiting"`
	Running   float64 `json:"running"`
	// Means since the previous sample, in seconds; NaN or 0 if there were none.
	TTFT float64 `json:"ttft"`
	ITL  float64 `json:"itl"`
}

// Usage is a figure with one panel below the other.
type Usage struct {
	Title   string
	Samples []Sample
}

// CheckPath refuses a file name whose extension does not select a format.
func CheckPath(path string) error {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".svg" && ext != ".png" {
		return fmt.Errorf("%s must end in .svg or .png; the extension selects the format", path)
	}
	return nil
}

// WriteFile draws in the format of the extension. If drawing fails, there is no file.
func (u *Usage) WriteFile(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := u.write(&b, strings.ToLower(filepath.Ext(path)[1:])); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Dimensions of a figure: the width, and the heights of the title and of each panel.
const (
	width       = 10 * vg.Inch
	titleHeight = 0.4 * vg.Inch
	panelHeight = 2.6 * vg.Inch
	legendWidth = 1.1 * vg.Inch
)

// write draws in a format that draw.NewFormattedCanvas knows: svg or png.
func (u *Usage) write(w io.Writer, format string) error {
	if len(u.Samples) < 2 {
		return fmt.Errorf("cannot plot %d samples; at least 2 are required", len(u.Samples))
	}
	panels := u.panels()
	c, err := draw.NewFormattedCanvas(width, titleHeight+panelHeight*vg.Length(len(panels)), format)
	if err != nil {
		return err
	}
	u.draw(draw.New(c), panels)
	_, err = c.WriteTo(w)
	return err
}

// panels leaves out the latencies if nothing was answered.
func (u *Usage) panels() []panel {
	all := []panel{
		{label: "KV pages", stacked: true, whole: true, series: []series{
			{"leased", func(s *Sample) float64 { return s.Leased }}, {"locked", func(s *Sample) float64 { return s.Locked }},
			{"evictable", func(s *Sample) float64 { return s.Evictable }}, {"free", func(s *Sample) float64 { return s.Free }},
		}},
		{label: "latency (s)", log: true, series: []series{
			{"TTFT", func(s *Sample) float64 { return s.TTFT }}, {"ITL", func(s *Sample) float64 { return s.ITL }},
		}},
		{label: "requests", whole: true, series: []series{
			{"waiting", func(s *Sample) float64 { return s.Waiting }}, {"running", func(s *Sample) float64 { return s.Running }},
		}},
	}
	if !slices.ContainsFunc(u.Samples, func(s Sample) bool { return s.TTFT > 0 || s.ITL > 0 }) {
		return append(all[:1], all[2])
	}
	return all
}

// draw puts the title above the panels and a legend beside each.
func (u *Usage) draw(c draw.Canvas, panels []panel) {
	head := plot.New().Title.TextStyle
	head.XAlign, head.YAlign = draw.XCenter, draw.YTop
	c.FillText(head, vg.Point{X: c.Center().X, Y: c.Max.Y - 0.1*vg.Inch}, u.Title)

	body := draw.Crop(c, 0, -legendWidth, 0, -titleHeight)
	rows, legends := make([][]*plot.Plot, len(panels)), make([]plot.Legend, len(panels))
	for i := range panels {
		p, legend := panels[i].plot(u.Samples)
		rows[i], legends[i] = []*plot.Plot{p}, legend
	}
	rows[len(rows)-1][0].X.Label.Text = "time (s)"
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadX: vg.Points(4), PadY: vg.Points(8), PadRight: vg.Points(6)}
	for i, canvases := range plot.Align(rows, tiles, body) {
		rows[i][0].Draw(canvases[0])
		side := canvases[0]
		side.Min.X, side.Max.X = side.Max.X+vg.Points(6), c.Max.X-vg.Points(4)
		legends[i].Draw(side)
	}
}
