package cachereplay

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/lab/trace"
)

// Conversations replays each conversation into an unlimited cache of its own: the best
// without sharing between conversations. Agents that a conversation started have their
// own caches and are not counted. Memory grows with the blocks of the trace.
type Conversations struct {
	cache  *treeCache
	counts map[string][2]int // hits and blocks
}

// Spread is the distribution of the conversations' hit ratios, from 0 to 1.
// Quartiles are interpolated between neighbours.
type Spread struct {
	Conversations int     `json:"conversations"`
	Min           float64 `json:"min"`
	P25           float64 `json:"p25"`
	Median        float64 `json:"median"`
	P75           float64 `json:"p75"`
	Max           float64 `json:"max"`
	Mean          float64 `json:"mean"`
}

func NewConversations() (*Conversations, error) {
	c, err := newTreeCache(Options{Eviction: "lru"})
	if err != nil {
		return nil, err
	}
	c.divided = true
	return &Conversations{cache: c, counts: map[string][2]int{}}, nil
}

func (c *Conversations) Step(r *trace.Request) error {
	hits, _, err := c.cache.access(r, 0)
	if err != nil {
		return fmt.Errorf("line %d: %w", r.Line, err)
	}
	if r.Conversation == "" || r.Subagent || len(r.Blocks) == 0 {
		return nil
	}
	n := c.counts[r.Conversation]
	c.counts[r.Conversation] = [2]int{n[0] + hits, n[1] + len(r.Blocks)}
	return nil
}

// Spread fails if the trace names no conversation.
func (c *Conversations) Spread() (Spread, error) {
	if len(c.counts) == 0 {
		return Spread{}, fmt.Errorf("the trace has no conversations with blocks; only the formats weka and jsonl can have them")
	}
	ratios, sum := make([]float64, 0, len(c.counts)), 0.0
	for _, n := range c.counts {
		ratios = append(ratios, float64(n[0])/float64(n[1]))
	}
	slices.Sort(ratios)
	for _, r := range ratios {
		sum += r
	}
	at := func(p float64) float64 { return measure.Percentile(ratios, p) }
	return Spread{len(ratios), at(0), at(25), at(50), at(75), at(100), sum / float64(len(ratios))}, nil
}
