package former

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// endToken ends a request of a crowd.
const endToken = 7

// crowd is a closed loop of clients: as many wait as can, with prompts of
// 32 to 96 tokens and 256 tokens of output at most, of which they use between 20
// and 80, or all.
type crowd struct {
	*virtual
	r      *rand.Rand
	length map[messages.RequestID]int
	long   bool // requests that arrive now use all of it
}

func newCrowd(opt Options, seed uint64) *crowd {
	c := &crowd{virtual: newVirtual(opt, linear), r: rand.New(rand.NewPCG(seed, 5)), length: map[messages.RequestID]int{}}
	c.draw = func(s *sequence) int32 {
		if s.output()+1 >= c.length[s.req.ID] {
			return endToken
		}
		return 1000 + int32(s.output())
	}
	return c
}

func (c *crowd) run(steps int) (tokensPerStep float64) {
	done, tokens := c.done, c.tokens
	for c.done < done+steps {
		for c.queue.Waiting() < 64 {
			prompt, length := 32+c.r.IntN(64), 20+c.r.IntN(60)
			if c.long {
				length = 256
			}
			c.enqueue(prompt, 256, func(r *messages.EngineRequest) {
				r.Params.IgnoreEOS, r.Params.EOSTokenIDs = false, []int32{endToken}
				c.length[r.ID] = length
			})
		}
		c.step()
	}
	return float64(c.tokens-tokens) / float64(steps)
}

// under reports whether a request that uses all of its output runs.
func (c *crowd) under() bool {
	for _, s := range c.former.batch.byID {
		if c.length[s.req.ID] == 256 {
			return true
		}
	}
	return false
}

// 400 steps of requests with five times the usual output retract others again
// and again. A hundred steps after the last one has ended, the throughput is
// that of an engine that never saw them, within 2 %.
func TestThroughputRecovers(t *testing.T) {
	if invariants.Enabled {
		t.Skip("builds with invariants check every page after every message, which takes too long for quantities")
	}
	var undisturbed, under, after float64
	for seed := range uint64(4) {
		opt := Options{PageSize: 16, Pages: 512, MaxRunning: 256, ContextLength: 1024, ChunkedPrefillSize: 512, StepsInFlight: 1 + int(seed%2)}
		calm, pressed := newCrowd(opt, seed), newCrowd(opt, seed)
		calm.run(1500)
		pressed.run(1000)
		retractions := pressed.retractions
		pressed.long = true
		pressed.run(100)
		under += pressed.run(300)
		pressed.long = false
		for pressed.under() {
			pressed.run(1)
		}
		if pressed.retractions == retractions {
			t.Errorf("seed %d: no request was retracted", seed)
		}
		pressed.run(100)
		after += pressed.run(1000)
		undisturbed += calm.run(1000)
	}
	t.Logf("%.1f tokens a step undisturbed, %.1f under pressure, %.1f after it", undisturbed/4, under/4, after/4)
	if under > 0.8*undisturbed {
		t.Errorf("the pressure is none: %.1f tokens a step of %.1f", under/4, undisturbed/4)
	}
	if after < 0.98*undisturbed {
		t.Errorf("%.1f tokens a step after pressure, %.1f without it", after/4, undisturbed/4)
	}
}
