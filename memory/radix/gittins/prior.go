package gittins

import "math"

// The prior of a class: it counts like priorPages observed pages, but at least the
// pages of priorRequests mean requests. They come back with a certain probability
// after a wait with a log-logistic distribution, whose hazard rises and then falls:
// people read, answer, and finally leave. The figures are fitted to the first half
// of Mooncake's conversation trace; they count less with every page observed.
const (
	priorPages    = 5000
	priorRequests = 20
	priorMedian   = 500 // ticks
	priorShape    = 2
)

var (
	priorLength  = [lengths]float64{0.13, 0.4, 0.4, 0.35, 0.26}
	priorTurn    = [turns]float64{0.53, 0.56, 0.6, 0.65, 0.75, 0.8}
	priorSharing = [sharings]float64{0.45, 0.55, 0.65, 0.75, 0.85, 0.95}
	// A user's pace persists: a wait resembles the one before it.
	gapMedian     = [gaps]float64{0.6, 0.85, 1.3}
	sharingMedian = [sharings]float64{1, 1, 0.8, 0.7, 0.6, 0.3}
)

// prior is a class's probability to be used again and the median of the wait.
func prior(class int) (again, median float64) {
	again, median = 1, priorMedian
	switch {
	case class == inUse:
		again = priorLength[0]
	case class == promptEnd:
		again = 0.02
	case class < laterTurn:
		again = priorLength[class-firstTurn]
	case class < sharedPrefix:
		i := class - laterTurn
		again = priorTurn[i/2/gaps]
		if i%2 == 1 {
			again *= 0.4
		}
		if i/2%gaps == gaps-1 {
			again *= 0.85
		}
		median *= gapMedian[i/2%gaps]
	default:
		again = priorSharing[class-sharedPrefix]
		median *= sharingMedian[class-sharedPrefix]
	}
	return again, median
}

// priorUsed[class][bin] is the probability that a wait has ended before the bin's age.
var priorUsed = func() (used [classes][ageBins + 1]float64) {
	for class := range used {
		again, median := prior(class)
		for bin := range used[class] {
			x := math.Pow(float64(binAge[bin])/median, priorShape)
			used[class][bin] = again * x / (1 + x)
		}
	}
	return used
}()
