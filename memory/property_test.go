package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// soak multiplies the length of random runs under TROUPE_SOAK=1.
func soak(ops int) int {
	if os.Getenv("TROUPE_SOAK") != "" {
		return 30 * ops
	}
	return ops
}

func TestTreeLikeTwinLongRun(t *testing.T) {
	for _, pageSize := range []int{1, 4, 16, 64} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			t.Parallel()
			matched, replaced, grown, evicted, runs := 0, 0, 0, 0, soak(25)
			for run := range runs {
				rng := rand.New(rand.NewPCG(uint64(run), uint64(pageSize)))
				m := newTreeMachine(t, pageSize, 30+rng.IntN(60), rng.IntN)
				for range 1000 {
					m.step()
				}
				matched, replaced, grown, evicted = matched+m.matched, replaced+m.replaced, grown+m.grown, evicted+m.evicted
			}
			if matched < 100*runs || replaced < 50*runs || grown < 10*runs || evicted < 100*runs {
				t.Fatalf("%d dull runs: %d pages matched, %d replaced, %d leaves grown, %d pages evicted", runs, matched, replaced, grown, evicted)
			}
		})
	}
}

func TestTreeLikeTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		m := newTreeMachine(t, 1<<draw(4), 20+draw(60), draw)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			m.step()
		}
	})
}

// FuzzTree reads the operations from bytes; when they are used up it ends.
func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 1, 1, 2, 5, 0, 3, 10, 0, 13, 4})
	f.Add([]byte("admit insert evict admit insert keep evict all of it"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		draw := func(n int) int {
			if len(ops) == 0 {
				return 0
			}
			b := ops[0]
			ops = ops[1:]
			return int(b) % n
		}
		m := newTreeMachine(t, 1<<draw(4), 20+draw(60), draw)
		for len(ops) > 0 {
			m.step()
		}
	})
}
