package discovery

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The list has what any source reports now or has reported within the last linger.
func TestProposals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const linger = 10
		p := newProposals("own", 3, linger)
		now, seen, current := time.Duration(0), map[string]time.Duration{}, [3][]string{}
		address := rapid.SampledFrom([]string{"a", "b", "c", "d", "own"})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			for _, list := range current {
				for _, a := range list {
					seen[a] = now // reported until now
				}
			}
			if rapid.Bool().Draw(t, "report") {
				i := rapid.IntRange(0, 2).Draw(t, "source")
				current[i] = rapid.SliceOf(address).Draw(t, "addresses")
				if p.report(i, current[i], now) {
					t.Fatal("addresses were left out")
				}
			}
			now += time.Duration(rapid.IntRange(0, 7).Draw(t, "time"))
			var want []string
			for _, a := range []string{"a", "b", "c", "d"} {
				isNow := slices.ContainsFunc(current[:], func(list []string) bool { return slices.Contains(list, a) })
				if last, ok := seen[a]; isNow || ok && last+linger > now {
					want = append(want, a)
				}
			}
			got, next := p.list(now)
			if !slices.Equal(got, want) {
				t.Fatalf("at %d: %q, want %q", now, got, want)
			}
			if again, _ := p.list(max(now, next-1)); next > 0 && !slices.Equal(again, want) {
				t.Fatalf("at %d the list changes before %d", now, next)
			}
			if next == 0 {
				if later, _ := p.list(now + 1000); !slices.Equal(later, want) {
					t.Fatalf("at %d an address leaves later, and no time is given", now)
				}
			}
		}
	})
}

func TestProposalsAreBounded(t *testing.T) {
	many := func(name string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%s%05d", name, i))
		}
		return list
	}
	p := newProposals("own", 2, time.Minute)
	if p.report(0, append(many("a", maxPeers), "own"), 0) {
		t.Error("as many addresses as allowed: some were left out")
	}
	for i := range 5 {
		if !p.report(1, many(fmt.Sprint("b", i), maxPeers+1), 0) {
			t.Error("more addresses than allowed: none was left out")
		}
	}
	if list, _ := p.list(0); len(list) != maxPeers {
		t.Errorf("the list has %d addresses, want %d", len(list), maxPeers)
	}
	if len(p.now[1]) != maxPeers || len(p.gone) > maxPeers {
		t.Errorf("%d addresses of a source and %d gone ones are kept; the bound is %d", len(p.now[1]), len(p.gone), maxPeers)
	}
}
