package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours are Okabe and Ito's, which colour-blind readers can tell apart
// ("Color Universal Design", 2008), in the order of use.
var colours = []color.RGBA{
	{0xD5, 0x5E, 0x00, 0xFF}, // vermillion
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0xCC, 0xCC, 0xCC, 0xFF}, // grey, in place of yellow, which is weak on white
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0x00, 0x9E, 0x73, 0xFF}, // bluish green
	{0xCC, 0x79, 0xA7, 0xFF}, // reddish purple
}

// panel makes the axes of one panel and its legend.
func (f *Figure) panel(i int) (*plot.Plot, plot.Legend, error) {
	p, in := plot.New(), &f.Panels[i]
	p.Y.Label.Text = in.Label
	if i == len(f.Panels)-1 {
		p.X.Label.Text = "time (s)"
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{whole: in.Whole}
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.Padding = vg.Points(2)
	var err error
	if in.Stacked {
		err = f.stack(p, &legend, in.Series)
	} else {
		err = f.lines(p, &legend, in)
	}
	// Fixed by the data's ends, not by what lines were drawn: panels with gaps
	// keep the common axis.
	p.X.Min, p.X.Max = f.Seconds[0], f.Seconds[len(f.Seconds)-1]
	f.scale(p, in)
	return p, legend, err
}

// scale sets the vertical axis, which starts at zero unless it is logarithmic.
func (f *Figure) scale(p *plot.Plot, in *Panel) {
	if !in.Log {
		p.Y.Min = min(p.Y.Min, 0)
		if !(p.Y.Max > p.Y.Min) {
			p.Y.Max = p.Y.Min + 1
		}
		return
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range in.Series {
		for _, v := range s.Values {
			if v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if least > most {
		least, most = 1, 10 // an empty panel
	}
	// Whole decades, so that there are ticks at both ends.
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(least)))
	p.Y.Max = math.Pow(10, math.Floor(math.Log10(most))+1)
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
}

// stack draws each series as the area between the sum below it and its own.
func (f *Figure) stack(p *plot.Plot, legend *plot.Legend, series []Series) error {
	floor := make([]float64, len(f.Seconds))
	for i, s := range series {
		ring := make(plotter.XYs, 2*len(floor))
		for t, at := range f.Seconds {
			ring[len(ring)-1-t] = plotter.XY{X: at, Y: floor[t]}
			if !math.IsNaN(s.Values[t]) {
				floor[t] += s.Values[t]
			}
			ring[t] = plotter.XY{X: at, Y: floor[t]}
		}
		area, err := plotter.NewPolygon(ring)
		if err != nil {
			return err
		}
		area.Color = colours[i%len(colours)]
		area.LineStyle.Width = 0
		p.Add(area)
		legend.Add(s.Name, area)
	}
	return nil
}

// lines draws each series as lines between its gaps.
func (f *Figure) lines(p *plot.Plot, legend *plot.Legend, in *Panel) error {
	palette := []color.RGBA{colours[4], colours[0], colours[5], colours[6]}
	for i, s := range in.Series {
		colour := palette[i%len(palette)]
		named := &plotter.Line{LineStyle: plotter.DefaultLineStyle}
		named.Color, named.Width = colour, vg.Points(1.2)
		for _, run := range f.runs(s.Values, in.Log) {
			if len(run) == 1 { // a line of one point is invisible
				p.Add(&plotter.Scatter{XYs: run, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}}})
				continue
			}
			line := *named
			line.XYs = run
			p.Add(&line)
		}
		legend.Add(s.Name, named)
	}
	return nil
}

// runs cuts a series at its gaps.
func (f *Figure) runs(values []float64, log bool) (runs []plotter.XYs) {
	var run plotter.XYs
	flush := func() {
		if len(run) > 0 {
			runs = append(runs, run)
		}
		run = nil
	}
	for i, v := range values {
		if math.IsNaN(v) || log && v <= 0 {
			flush()
			continue
		}
		run = append(run, plotter.XY{X: f.Seconds[i], Y: v})
	}
	flush()
	return runs
}
