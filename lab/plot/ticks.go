package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks mark an axis at four to ten multiples of 1, 2 or 5 times a power of ten, with
// short ones between them. gonum's own mark only three numbers, often odd ones if the
// axis does not begin at zero.
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
