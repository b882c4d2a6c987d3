package cachereplay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/radix/policies"
)

// The two references on a table of blocks.
const (
	Belady = "belady"
	FIFO   = "fifo"
)

// Index is the data structure that a policy runs on.
type Index string

const (
	AutoIndex  Index = "auto"   // a table for belady and fifo and a tree for all others
	TreeIndex  Index = "tree"   // radix.Tree; its own fifo evicts leaves
	BlockIndex Index = "blocks" // the table of blocks
)

// DefaultHistory is enough for an hour's trace; an evicted block takes 60 bytes.
const DefaultHistory = 1 << 20

type Options struct {
	Eviction string // a name of policies.Names or belady; see Names
	Index    Index  // empty means AutoIndex
	// Capacity is the room in blocks; 0 means unlimited. Hard: exceeded only
	// between the insertion and the eviction of one request.
	Capacity int
	// History is how many evicted blocks the policies remember; 0: DefaultHistory.
	History int
	Future  *Future // for belady: all requests, read before
}

type Result struct {
	Eviction string `json:"eviction"`
	Index    Index  `json:"index"`
	Capacity int    `json:"capacity_blocks"` // 0: unlimited
	Requests int    `json:"requests"`
	Blocks   int    `json:"blocks"`
	Hits     int    `json:"hit_blocks"`
	Evicted  int    `json:"evicted_blocks"`
	// Oversized requests had more blocks than the capacity, the first on OversizedLine.
	Oversized     int     `json:"oversized_requests"`
	OversizedLine int     `json:"oversized_line,omitempty"`
	HitRatio      float64 `json:"hit_ratio"` // hit blocks / all blocks
}

// Replay is one cache. Not safe for concurrent use.
type Replay struct {
	result   Result
	cache    cache
	smallest int // blocks of the smallest request
	line     int // its line in the trace
}

// cache is an index with a rule of eviction.
type cache interface {
	// access finds the longest cached prefix, inserts the rest and evicts down
	// to capacity (0: never). It returns hits and evictions in blocks.
	access(r *trace.Request, capacity int) (hits, evicted int, err error)
}

// Names lists what Options.Eviction takes, sorted.
func Names() []string {
	names := append(policies.Names(), Belady)
	slices.Sort(names)
	return slices.Compact(names)
}

// New makes an empty cache. Errors name the option.
func New(opts Options) (*Replay, error) {
	switch {
	case opts.Capacity < 0 || opts.Capacity > maxPages:
		return nil, fmt.Errorf("--capacity is %d blocks; it must be between 1 and %d, or 0 for unlimited", opts.Capacity, maxPages)
	case opts.History < 0:
		return nil, fmt.Errorf("--eviction-history is %d; it must be at least 1", opts.History)
	case !slices.Contains(Names(), opts.Eviction):
		return nil, fmt.Errorf("--eviction %q is not known; use one of %s", opts.Eviction, strings.Join(Names(), ", "))
	}
	index := opts.Index
	if index == AutoIndex || index == "" {
		if index = TreeIndex; opts.Eviction == Belady || opts.Eviction == FIFO {
			index = BlockIndex
		}
	}
	p := &Replay{result: Result{Eviction: opts.Eviction, Index: index, Capacity: opts.Capacity}}
	var err error
	switch {
	case index == TreeIndex && opts.Eviction == Belady:
		err = fmt.Errorf("--eviction belady requires --index %s or %s", AutoIndex, BlockIndex)
	case index == TreeIndex:
		p.cache, err = newTreeCache(opts)
	case index != BlockIndex:
		err = fmt.Errorf("--index %q is not known; use one of %s, %s, %s", index, AutoIndex, TreeIndex, BlockIndex)
	case opts.Eviction == FIFO:
		p.cache = &fifoTable{resident: map[uint64]bool{}}
	case opts.Eviction == Belady && opts.Future == nil:
		err = errors.New("bug: belady was started before it had read the whole trace; please report this")
	case opts.Eviction == Belady:
		p.cache = &beladyTable{future: opts.Future, at: map[uint64]int{}}
	default:
		err = fmt.Errorf("--eviction %s requires --index %s or %s", opts.Eviction, AutoIndex, TreeIndex)
	}
	return p, err
}

// Step replays the next request. A request without blocks changes nothing.
func (p *Replay) Step(r *trace.Request) error {
	hits, evicted, err := p.cache.access(r, p.result.Capacity)
	if err != nil {
		return fmt.Errorf("line %d: %w", r.Line, err)
	}
	n := len(r.Blocks)
	p.result.Requests++
	p.result.Blocks += n
	p.result.Hits += hits
	p.result.Evicted += evicted
	if n > 0 && (p.line == 0 || n < p.smallest) {
		p.smallest, p.line = n, r.Line
	}
	if p.result.Capacity > 0 && n > p.result.Capacity {
		if p.result.Oversized++; p.result.OversizedLine == 0 {
			p.result.OversizedLine = r.Line
		}
	}
	return nil
}

var ErrNoBlocks = errors.New("the trace has no block ids, so the hit ratio would be 0; use a trace that has them (mooncake, weka, jsonl)")

// Result is the count so far, with ErrNoBlocks or another error if it means nothing.
func (p *Replay) Result() (Result, error) {
	r := p.result
	switch {
	case r.Blocks == 0:
		return r, ErrNoBlocks
	case r.Oversized > 0 && p.smallest > r.Capacity:
		return r, fmt.Errorf("--capacity %d is too small: the smallest request, on line %d, has %d blocks; use at least %[3]d", r.Capacity, p.line, p.smallest)
	}
	r.HitRatio = float64(r.Hits) / float64(r.Blocks)
	return r, nil
}
