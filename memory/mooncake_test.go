package memory

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

// mooncakeTrace is one of Mooncake's traces: the block ids of each request, 512
// tokens to a block.
type mooncakeTrace [][]int32

func mooncakeFile(t testing.TB, name string) string {
	return conformance.Path(t, "traces", "mooncake", name)
}

func readMooncake(t testing.TB, name string) mooncakeTrace {
	type request struct {
		Blocks []int32 `json:"hash_ids"`
	}
	var trace mooncakeTrace
	for _, r := range conformance.Lines[request](t, mooncakeFile(t, name)) {
		trace = append(trace, r.Blocks)
	}
	return trace
}

// hitRatio replays a trace, one page per block, with the rules of the reference
// figures: the longest cached prefix hits, then all blocks are used, then the
// cache is cut to its capacity.
func (trace mooncakeTrace) hitRatio(t *testing.T, opts TreeOptions, capacity int) float64 {
	opts.PageSize = 1
	tree := user{Tree: NewTree(opts)}
	hits, all := 0, 0
	for _, blocks := range trace {
		hits += tree.bring(blocks)
		all += len(blocks)
		tree.evict(t, max(0, tree.Evictable()-capacity))
	}
	return float64(hits) / float64(all)
}

// TestConformanceMooncakeHitRatios: eviction in the tree is eviction of blocks,
// leaf first, to four decimals at every capacity.
func TestConformanceMooncakeHitRatios(t *testing.T) {
	text, err := os.ReadFile(mooncakeFile(t, "reference_hit_ratios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reference map[string]json.RawMessage
	var want struct {
		Caps map[int]map[string]float64 `json:"caps"`
	}
	if err = json.Unmarshal(text, &reference); err == nil {
		err = json.Unmarshal(reference["conversation"], &want)
	}
	if err != nil || len(want.Caps) < 5 {
		t.Fatalf("%d capacities: %v", len(want.Caps), err)
	}
	trace := readMooncake(t, "conversation_trace.jsonl")
	for capacity, ratios := range want.Caps {
		for name, opts := range map[string]TreeOptions{
			"lru_leaf_first":        {Policy: LRU{}},
			"lfu_persistent_counts": {Policy: LFU{}, History: 1 << 20},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, capacity), func(t *testing.T) {
				if got := trace.hitRatio(t, opts, capacity); math.Abs(got-ratios[name]) > 0.00005 {
					t.Errorf("hit ratio %.5f, want %.5f", got, ratios[name])
				}
			})
		}
	}
}

// TestConformanceMooncakeIndexMemory replays the conversation trace in tokens
// with a cache of 3 million and measures the heap that the tree holds at the
// end: at most 10 bytes per cached token at page size 1 and 5 from 16 on.
func TestConformanceMooncakeIndexMemory(t *testing.T) {
	trace := readMooncake(t, "conversation_trace.jsonl")
	for pageSize, limit := range map[int]float64{1: 10, 16: 5, 64: 5} {
		var tokens []int32
		used, tree := heapAfter(func() *Tree {
			c := newConversation(TreeOptions{PageSize: pageSize})
			for _, blocks := range trace {
				tokens = appendTokens(tokens[:0], blocks)
				if err := c.request(tokens); err != nil {
					t.Fatal(err)
				}
			}
			return c.tree
		})
		cached := tree.Evictable() * pageSize
		perToken := float64(used-4*cap(tokens)) / float64(cached)
		t.Logf("page size %d: %d tokens in %d nodes, %.2f bytes per token", pageSize, cached, tree.Nodes(), perToken)
		if cached < conversationTokens*99/100 || perToken > limit {
			t.Errorf("page size %d: %d tokens take %.2f bytes each, limit %g", pageSize, cached, perToken, limit)
		}
		runtime.KeepAlive(tokens)
	}
}
