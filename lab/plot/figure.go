package plot

import (
	"fmt"
	"math"
)

// Figure is a column of panels over one time axis.
type Figure struct {
	Title   string
	Seconds []float64 // ascending; the samples of every series stand at these times
	Panels  []Panel
}

// Panel is one pair of axes.
type Panel struct {
	Label  string // of the vertical axis, with the unit: "KV pages"
	Series []Series
	// Stacked piles the series up as areas, the first at the bottom; otherwise
	// each is a line.
	Stacked bool
	// Log makes the vertical axis logarithmic. Values that are not positive
	// become gaps. Not together with Stacked.
	Log bool
	// Whole says that the values are counts: no tick stands between two numbers.
	Whole bool
}

// Series is one value per time. NaN is a gap of a line and nothing in a stack.
type Series struct {
	Name   string
	Values []float64
}

// Validate reports what cannot be drawn.
func (f *Figure) Validate() error {
	if len(f.Seconds) < 2 {
		return fmt.Errorf("plot: %d samples in time; a curve needs at least 2", len(f.Seconds))
	}
	for i, t := range f.Seconds {
		if math.IsNaN(t) || math.IsInf(t, 0) || i > 0 && t <= f.Seconds[i-1] {
			return fmt.Errorf("plot: time %d is %v; times must be finite and ascend", i, t)
		}
	}
	if len(f.Panels) == 0 {
		return fmt.Errorf("plot: a figure without panels")
	}
	for _, p := range f.Panels {
		if p.Log && p.Stacked {
			return fmt.Errorf("plot: panel %q is stacked and logarithmic; the heights of a logarithmic stack mean nothing", p.Label)
		}
		if len(p.Series) == 0 {
			return fmt.Errorf("plot: panel %q has no series", p.Label)
		}
		for _, s := range p.Series {
			if len(s.Values) != len(f.Seconds) {
				return fmt.Errorf("plot: series %q has %d values for %d times", s.Name, len(s.Values), len(f.Seconds))
			}
			for i, v := range s.Values {
				if math.IsInf(v, 0) || p.Stacked && v < 0 {
					return fmt.Errorf("plot: value %d of series %q is %v, which cannot be drawn", i, s.Name, v)
				}
			}
		}
	}
	return nil
}
