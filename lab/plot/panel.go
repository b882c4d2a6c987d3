package plot

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one pair of axes.
type panel struct {
	label   string // of the vertical axis, with the unit
	series  []series
	stacked bool // areas above each other, the first at the bottom; otherwise lines
	log     bool // the vertical axis is logarithmic
	whole   bool // the values are counts: no ticks between whole numbers
}

type series struct {
	name  string
	value func(*Sample) float64 // NaN is a gap
}

// colours are Okabe and Ito's for colour-blind readers ("Color Universal Design",
// 2008), in the order of use.
var colours = []color.RGBA{
	{0xD5, 0x5E, 0x00, 0xFF}, // vermillion
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0xCC, 0xCC, 0xCC, 0xFF}, // grey instead of yellow, which is weak on white
	{0x00, 0x72, 0xB2, 0xFF}, // blue
}

func (p *panel) plot(samples []Sample) (*plot.Plot, plot.Legend) {
	out, legend := plot.New(), plot.NewLegend()
	out.Y.Label.Text = p.label
	out.X.Tick.Marker, out.Y.Tick.Marker = ticks{}, ticks{whole: p.whole}
	out.Add(plotter.NewGrid())
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(2)
	if p.stacked {
		p.stack(out, &legend, samples)
	} else {
		p.lines(out, &legend, samples)
	}
	// All panels share the time axis, also those with gaps at its ends.
	out.X.Min, out.X.Max = samples[0].Seconds, samples[len(samples)-1].Seconds
	if p.log {
		p.decades(out, samples)
		return out, legend
	}
	out.Y.Min = min(out.Y.Min, 0)
	if !(out.Y.Max > out.Y.Min) {
		out.Y.Max = out.Y.Min + 1
	}
	return out, legend
}

// decades makes the vertical axis logarithmic, for at least one positive value.
func (p *panel) decades(out *plot.Plot, samples []Sample) {
	least, most := math.Inf(1), 0.0
	for _, s := range p.series {
		for i := range samples {
			if v := s.value(&samples[i]); v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	out.Y.Min, out.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Floor(math.Log10(most))+1)
	out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// stack draws each series as the area between the sum below it and its own.
func (p *panel) stack(out *plot.Plot, legend *plot.Legend, samples []Sample) {
	floor := make([]float64, len(samples))
	for n, s := range p.series {
		ring := make(plotter.XYs, 2*len(floor))
		for i := range samples {
			x := samples[i].Seconds
			ring[len(ring)-1-i] = plotter.XY{X: x, Y: floor[i]}
			floor[i] += max(s.value(&samples[i]), 0)
			ring[i] = plotter.XY{X: x, Y: floor[i]}
		}
		area := &plotter.Polygon{XYs: []plotter.XYs{ring}, Color: colours[n]}
		out.Add(area)
		legend.Add(s.name, area)
	}
}

// lines draws each series between its gaps; with log, values up to 0 are gaps.
func (p *panel) lines(out *plot.Plot, legend *plot.Legend, samples []Sample) {
	for n, s := range p.series {
		line := plotter.Line{LineStyle: plotter.DefaultLineStyle}
		line.Color, line.Width = []color.RGBA{colours[4], colours[0]}[n], vg.Points(1.2)
		legend.Add(s.name, &line)
		var run plotter.XYs
		for i := 0; i <= len(samples); i++ {
			if i < len(samples) {
				if v := s.value(&samples[i]); !math.IsNaN(v) && !(p.log && v <= 0) {
					run = append(run, plotter.XY{X: samples[i].Seconds, Y: v})
					continue
				}
			}
			switch piece := line; len(run) {
			case 0:
			case 1: // a line of one point would be invisible
				out.Add(&plotter.Scatter{XYs: run, GlyphStyle: draw.GlyphStyle{Color: line.Color, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}}})
			default:
				piece.XYs = run
				out.Add(&piece)
			}
			run = nil
		}
	}
}

// ticks mark an axis at four to ten multiples of 1, 2 or 5 times a power of ten, with short
// ones between. gonum's own mark only three numbers, odd ones if it begins above zero.
type ticks struct {
	whole bool // no tick between whole numbers
}

func (t ticks) Ticks(min, max float64) []plot.Tick {
	if !(max > min) {
		return nil
	}
	step, parts := stride(max - min)
	if t.whole && step < 1 {
		step = 1
	}
	if t.whole && step < float64(parts) {
		parts = 1
	}
	var all []plot.Tick
	small := step / float64(parts)
	// The sum turns -0, which would be labelled so, into 0.
	first, last := math.Ceil(min/small-1e-9)+0, math.Floor(max/small+1e-9)
	for i := first; i <= last; i++ {
		tick := plot.Tick{Value: i * small}
		if math.Mod(i, float64(parts)) == 0 {
			// The number of steps is whole; written from it, 3 x 0.1 is 0.3.
			tick.Label = strconv.FormatFloat(i/float64(parts)*step, 'g', 10, 64)
		}
		all = append(all, tick)
	}
	return all
}

// stride is the distance of labelled ticks, and how many parts short ticks make of it.
func stride(span float64) (step float64, parts int) {
	unit := math.Pow(10, math.Floor(math.Log10(span)))
	switch lead := span / unit; {
	case lead < 2:
		return unit / 5, 2
	case lead < 4:
		return unit / 2, 5
	default:
		return unit, 2
	}
}
