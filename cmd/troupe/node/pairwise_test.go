package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// factor has several levels, each a list of settings as key=value.
type factor struct {
	name   string
	levels [][]string
}

// combination has a level for each factor.
type combination []int

// pair is two factors with their levels; i is greater than j.
type pair struct{ i, a, j, b int }

func (c combination) pairs() []pair {
	var list []pair
	for i := range c {
		for j := range i {
			list = append(list, pair{i, c[i], j, c[j]})
		}
	}
	return list
}

// tries is the number of candidates for each combination.
const tries = 30

// pairwise are combinations in which every two levels of every two factors meet,
// the plainest first. Each is the best of some candidates, which are grown from
// a pair that has not met yet, factor by factor in a random order, with the
// level that meets the most that is new, any of equals (the AETG method).
func pairwise(factors []factor) []combination {
	r := rand.New(rand.NewPCG(2, 3))
	open := map[pair]bool{}
	for i := range factors {
		for j := range i {
			for a := range factors[i].levels {
				for b := range factors[j].levels {
					open[pair{i, a, j, b}] = true
				}
			}
		}
	}
	take := func(c combination) combination {
		for _, p := range c.pairs() {
			delete(open, p)
		}
		return c
	}
	list := []combination{take(make(combination, len(factors)))}
	for len(open) > 0 {
		seed := first(open)
		var best combination
		most := 0
		for range tries {
			c, met := grow(factors, open, seed, r)
			if met > most {
				best, most = c, met
			}
		}
		list = append(list, take(best))
	}
	return list
}

// first returns the smallest of a set, so that runs are repeatable.
func first(open map[pair]bool) pair {
	var least pair
	found := false
	for p := range open {
		if !found || slices.Compare([]int{p.i, p.j, p.a, p.b}, []int{least.i, least.j, least.a, least.b}) < 0 {
			least, found = p, true
		}
	}
	return least
}

func grow(factors []factor, open map[pair]bool, seed pair, r *rand.Rand) (c combination, met int) {
	c = slices.Repeat(combination{-1}, len(factors))
	c[seed.i], c[seed.j], met = seed.a, seed.b, 1
	for _, i := range r.Perm(len(factors)) {
		if c[i] >= 0 {
			continue
		}
		most := -1
		for _, level := range r.Perm(len(factors[i].levels)) {
			n := 0
			for j, other := range c {
				p := pair{i, level, j, other}
				if j > i {
					p = pair{j, other, i, level}
				}
				if other >= 0 && open[p] {
					n++
				}
			}
			if n > most {
				most, c[i] = n, level
			}
		}
		met += most
	}
	return c, met
}

// random draws n combinations.
func random(factors []factor, n int) []combination {
	r := rand.New(rand.NewPCG(4, 5))
	list := make([]combination, n)
	for i := range list {
		for _, f := range factors {
			list[i] = append(list[i], r.IntN(len(f.levels)))
		}
	}
	return list
}

func TestPairwiseCoversEveryPair(t *testing.T) {
	met := map[pair]bool{}
	list := pairwise(factors)
	for _, c := range list {
		for _, p := range c.pairs() {
			met[p] = true
		}
	}
	most := [2]int{}
	for i, f := range factors {
		most[0] = max(most[0], len(f.levels))
		slices.Sort(most[:])
		for j, g := range factors[:i] {
			for a := range f.levels {
				for b := range g.levels {
					if !met[pair{i, a, j, b}] {
						t.Fatalf("%s at level %d never meets %s at level %d", f.name, a, g.name, b)
					}
				}
			}
		}
	}
	if n, least := len(list), most[0]*most[1]; n > least*5/4 {
		t.Errorf("%d combinations, %d are the least possible", n, least)
	}
	if again := pairwise(factors); fmt.Sprint(again) != fmt.Sprint(list) {
		t.Error("two runs return different lists")
	}
}
