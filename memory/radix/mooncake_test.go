package radix

import (
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
