package gittins

import (
	"math"
	"math/bits"
)

const (
	// maxAge is how long a wait is observed, in ticks: later uses do not count.
	maxAge = 1 << 13
	// ageBins are half-octaves of the age: [1, 2), [2, 3), [3, 4), [4, 6), …
	ageBins = 26
	// halfLife is the number of ticks after which the past counts half.
	halfLife = 1 << 16
)

// lifeTable estimates how long pages of each class wait for their next use. It is
// an actuarial life table: for each class and age, how many pages have reached the
// age unused (at risk) and how many of them were used before the next age. The
// quotient, the hazard, is unbiased although most waits never end and recent ones
// have not reached the higher ages yet. A wait continues when its page is evicted,
// so what is learned does not depend on what was kept.
//
// Waits are in a ring by the tick at which they began. Each age has a hand that
// moves around the ring and counts the waits that reach the age: O(ages) per tick.
type lifeTable struct {
	risk, used [classes][ageBins]float64 // pages
	ring       [][classes]int32          // by tick modulo maxAge: pages still unused
	classes    []uint64                  // of each entry of the ring, the classes with any
	hands      [ageBins]uint64           // the first tick that has not reached the age
	now        uint64
	halved     uint64
}

func newLifeTable() lifeTable {
	return lifeTable{ring: make([][classes]int32, maxAge), classes: make([]uint64, maxAge)}
}

var binAge = func() (ages [ageBins + 1]uint64) {
	for i := range ages {
		ages[i] = uint64(math.Ceil(math.Pow(2, float64(i)/2)))
	}
	return ages
}()

// ageBin is the bin of each age below maxAge; the last for all others.
func ageBin(age uint64) int {
	if age >= maxAge {
		return ageBins - 1
	}
	return int(binOfAge[age])
}

var binOfAge = func() (bins [maxAge]uint8) {
	bin := 0
	for age := range bins {
		for bin+1 < ageBins && binAge[bin+1] <= uint64(age) {
			bin++
		}
		bins[age] = uint8(bin)
	}
	return bins
}()

func (t *lifeTable) advance(now uint64) {
	for ; t.now < now; t.now++ {
		next := t.now + 1
		for bin := range t.hands {
			for ; t.hands[bin]+binAge[bin] <= next; t.hands[bin]++ {
				t.reach(bin, t.hands[bin])
			}
		}
		t.ring[next%maxAge] = [classes]int32{}
		t.classes[next%maxAge] = 0
		if next-t.halved == halfLife {
			t.halve(next)
		}
	}
}

// reach counts the waits that began at a tick and have reached a bin's age.
func (t *lifeTable) reach(bin int, tick uint64) {
	for set := t.classes[tick%maxAge]; set != 0; set &= set - 1 {
		class := bits.TrailingZeros64(set)
		t.risk[class][bin] += float64(t.ring[tick%maxAge][class])
	}
}

func (t *lifeTable) halve(now uint64) {
	for class := range t.risk {
		for bin := range t.risk[class] {
			t.risk[class][bin] /= 2
			t.used[class][bin] /= 2
		}
	}
	t.halved = now
}

// begin records pages whose wait begins.
func (t *lifeTable) begin(class int, now uint64, pages int) {
	t.advance(now)
	t.ring[now%maxAge][class] += int32(pages)
	t.classes[now%maxAge] |= 1 << class
}

// reused records pages whose wait, begun at a tick, ends with a use.
func (t *lifeTable) reused(class int, tick uint64, pages int, now uint64) {
	if t.forget(class, tick, pages, now) {
		t.used[class][ageBin(now-tick)] += float64(pages)
	}
}

// forget removes a wait that was observed until now, if it still is.
func (t *lifeTable) forget(class int, tick uint64, pages int, now uint64) bool {
	t.advance(now)
	if tick > now || now-tick >= maxAge || tick == now {
		return false
	}
	left := &t.ring[tick%maxAge][class]
	if int(*left) < pages {
		return false
	}
	*left -= int32(pages)
	return true
}
