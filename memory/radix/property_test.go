package radix

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// soak multiplies the length of random runs under TROUPE_SOAK=1.
func soak(ops int) int {
	if os.Getenv("TROUPE_SOAK") != "" {
		return 100 * ops
	}
	return ops
}

func newRNG(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, 1)).IntN }

// agingClasses is a Learner whose choice depends on the time: leaves that were
// hit wait four times as long as others. It counts what is reported to it.
type agingClasses struct {
	LRU
	added, hit int // pages
}

func (*agingClasses) Classes() int { return 3 }

func (*agingClasses) Class(u *Usage) int { return int(min(u.Hits, 3)) - 1 }

func (*agingClasses) Choose(now uint64, least, _ []*Usage) (int, bool) {
	best, oldest := -1, uint64(0)
	for class, u := range least {
		if u == nil {
			continue
		}
		if age := (now + 1 - u.LastUse) << (2 * (len(least) - 1 - class)); age > oldest {
			best, oldest = class, age
		}
	}
	return best, false
}

func (p *agingClasses) Added(_ *Usage, _ uint64, pages int) { p.added += pages }

func (p *agingClasses) Used(_ uint64, path []PathNode, _, _ bool) {
	for _, n := range path {
		if n.Hit {
			p.hit += n.Pages
		}
	}
}

// treeVariants are the options that change how trees work. The external tests
// add the policies that package radix must not import.
var treeVariants = map[string]func() TreeOptions{
	"classes":     func() TreeOptions { return TreeOptions{Policy: &agingClasses{}} },
	"lfu history": func() TreeOptions { return TreeOptions{Policy: LFU{}, History: 1 << 20} },
	"lru events":  func() TreeOptions { return TreeOptions{Policy: LRU{}, Events: true} },
}

// TreeVariants is for the external tests.
var TreeVariants = treeVariants

func variantNames() []string {
	var names []string
	for name := range treeVariants {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestTreeLikeTwinLongRun makes at least 10^5 operations in all, 10^7 in the
// soak.
func TestTreeLikeTwinLongRun(t *testing.T) {
	for _, name := range variantNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pageSize := range []int{1, 4, 16, 64} {
				matched, replaced, grew, evicted, shortened, runs := 0, 0, 0, 0, 0, soak(10)
				for run := range runs {
					rng := rand.New(rand.NewPCG(uint64(run), uint64(pageSize)))
					opts := treeVariants[name]()
					opts.PageSize = pageSize
					m := newTreeMachine(t, opts, 30+rng.IntN(60), rng.IntN)
					for range 250 {
						m.step()
					}
					matched, replaced, grew = matched+m.matched, replaced+m.replaced, grew+m.grown
					evicted, shortened = evicted+m.evicted, shortened+m.shortened
				}
				// fifo, filo and gittins tell the chunks of a prompt apart.
				if matched < 25*runs || replaced < 10*runs || grew < runs && !strings.HasPrefix(name, "fi") && !strings.HasPrefix(name, "gittins") || evicted < 25*runs || shortened < runs/4 {
					t.Fatalf("%d dull runs: %d pages matched, %d replaced, %d leaves grown, %d pages evicted, %d leaves shortened",
						runs, matched, replaced, grew, evicted, shortened)
				}
			}
		})
	}
}

func TestTreeLikeTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		opts := treeVariants[rapid.SampledFrom(variantNames()).Draw(t, "variant")]()
		opts.PageSize = 1 << draw(4)
		m := newTreeMachine(t, opts, 20+draw(60), draw)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			m.step()
		}
	})
}

// FuzzTree reads the operations from bytes; when they are used up it ends.
func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 1, 1, 2, 5, 0, 3, 10, 0, 13, 4})
	for i, name := range variantNames() {
		f.Add(fmt.Appendf(nil, "%c%s: admit insert evict admit insert keep evict all of it", i, name))
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		draw := func(n int) int {
			if len(ops) == 0 {
				return 0
			}
			b := ops[0]
			ops = ops[1:]
			return int(b) % n
		}
		names := variantNames()
		opts := treeVariants[names[draw(len(names))]]()
		opts.PageSize = 1 << draw(4)
		m := newTreeMachine(t, opts, 20+draw(60), draw)
		for len(ops) > 0 {
			m.step()
		}
	})
}
