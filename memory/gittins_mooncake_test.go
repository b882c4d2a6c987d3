package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// TestConformanceGittinsOnMooncake: on the conversation trace gittins closes a
// quarter of the gap between LRU and Belady wherever LRU reaches less than 60 %
// of Belady, and nowhere falls more than 0.2 points below LRU.
func TestConformanceGittinsOnMooncake(t *testing.T) {
	text, err := os.ReadFile(mooncakeFile(t, "reference_hit_ratios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Conversation struct {
			Caps map[int]struct {
				LRU    float64 `json:"lru_leaf_first"`
				Belady float64 `json:"belady_block"`
			} `json:"caps"`
		} `json:"conversation"`
	}
	if err := json.Unmarshal(text, &reference); err != nil || len(reference.Conversation.Caps) < 5 {
		t.Fatalf("%d capacities: %v", len(reference.Conversation.Caps), err)
	}
	// At 10 000 blocks, where LRU is at 58 %, it is less: what remains to be
	// known there is whether the first turn of a conversation was its last, and
	// the lengths and times of a trace hardly tell. Decision 0010 has the bound.
	least := map[int]float64{10000: 0.18}
	trace := readMooncake(t, "conversation_trace.jsonl")
	for capacity, ref := range reference.Conversation.Caps {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			got := trace.hitRatio(t, TreeOptions{Policy: NewGittins(), History: 1 << 20}, capacity)
			share := (got - ref.LRU) / (ref.Belady - ref.LRU)
			t.Logf("LRU %.5f, gittins %.5f, Belady %.5f: %.0f %% of the gap", ref.LRU, got, ref.Belady, 100*share)
			if got < ref.LRU-0.002 {
				t.Errorf("hit ratio %.5f, LRU has %.5f", got, ref.LRU)
			}
			want, ok := least[capacity]
			if !ok {
				want = 0.25
			}
			if ref.LRU < 0.6*ref.Belady && share < want {
				t.Errorf("closes %.3f of the gap, want %g", share, want)
			}
		})
	}
}

// BenchmarkPolicies is what a request of 24 pages costs the tree under each
// policy: lock, insert, and evict as much as came, 6000 pages cached. Half of
// the requests go on with one of the last 500.
func BenchmarkPolicies(b *testing.B) {
	for _, bc := range []struct {
		name string
		opts TreeOptions
	}{
		{"lru", TreeOptions{Policy: LRU{}}},
		{"lru-history", TreeOptions{Policy: LRU{}, History: HistoryFor("gittins", 6000)}},
		{"gittins", TreeOptions{Policy: NewGittins(), History: HistoryFor("gittins", 6000)}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			const pageSize = 64
			bc.opts.PageSize = pageSize
			tree := user{Tree: NewTree(bc.opts)}
			rng := rand.New(rand.NewPCG(1, 2))
			prompts := make([][]int32, 500)
			token, evicted := int32(0), 0
			for i := 0; b.Loop(); i++ {
				was := prompts[rng.IntN(len(prompts))]
				prompt := append([]int32(nil), was...)
				brought := 8
				if rng.IntN(2) == 0 || len(was) > 60*pageSize {
					prompt, brought = prompt[:0], 20
				}
				for range brought * pageSize {
					token++
					prompt = append(prompt, token)
				}
				prompts[i%len(prompts)] = prompt
				tree.bring(prompt)
				over := max(0, tree.Evictable()-6000)
				evicted += over
				tree.evict(b, over)
			}
			b.ReportMetric(float64(evicted)/float64(b.N), "evicted/op")
		})
	}
}
