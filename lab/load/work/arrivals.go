package work

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals are the times at which the sessions of an open-loop load are due.
type Arrivals struct {
	Rate float64 // mean number per second; +Inf makes all due at once
	// Burstiness is the shape of the gaps' gamma distribution: 1 is a Poisson process,
	// less means bursts, more evener gaps, +Inf a session exactly every 1/Rate seconds.
	Burstiness float64
	Seed       uint64

	r  *rand.Rand
	at float64 // seconds
}

func (a *Arrivals) Check() error {
	switch {
	case !(a.Rate > 0):
		return fmt.Errorf("--rate is %g; it must be above 0, or inf for all at once", a.Rate)
	case !(a.Burstiness > 0):
		return fmt.Errorf("--burstiness is %g; it must be above 0; 1 is a Poisson process", a.Burstiness)
	}
	return nil
}

// Next is the time of the next session; the first one's is 0.
func (a *Arrivals) Next() time.Duration {
	if math.IsInf(a.Rate, 1) {
		return 0
	}
	if a.r == nil {
		a.r = stream(a.Seed, streamArrivals, 0)
	} else {
		a.at += a.gap() / a.Rate
	}
	return time.Duration(math.Round(min(a.at, 1e9) * float64(time.Second)))
}

// gap draws from a gamma distribution of mean 1.
func (a *Arrivals) gap() float64 {
	switch shape := a.Burstiness; {
	case math.IsInf(shape, 1):
		return 1
	case shape == 1:
		return a.r.ExpFloat64()
	case shape < 1:
		// Gamma(k) = Gamma(k+1) · U^(1/k).
		return gamma(a.r, shape+1) * math.Pow(1-a.r.Float64(), 1/shape) / shape
	default:
		return gamma(a.r, shape) / shape
	}
}

// gamma draws for a shape of at least 1 with scale 1, by Marsaglia and Tsang:
// A Simple Method for Generating Gamma Variables (2000).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - r.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
