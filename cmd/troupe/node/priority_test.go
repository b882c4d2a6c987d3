package node

import (
	"testing"
)

// ids is a prompt of n tokens that shares no page with another kind's.
func ids(kind, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 300 + 50*kind + i%50
	}
	return list
}

// With the eviction policy priority, the prefixes of urgent requests stay cached if memory
// is short, although they are older; lru keeps the newer ones.
func TestEvictionByPriority(t *testing.T) {
	const page, urgentPages, otherPages, pool = 16, 10, 10, 32
	for _, tt := range []struct {
		name, policy     string
		lowFirst         bool
		urgent, other    int
		urgentStays      bool
		sendsNoPriority  bool
		otherStaysAtMost int // tokens
	}{
		{name: "priority", policy: "priority", urgent: 5, other: 1, urgentStays: true, otherStaysAtMost: 2 * page},
		{name: "low values first", policy: "priority", lowFirst: true, urgent: 1, other: 5, urgentStays: true, otherStaysAtMost: 2 * page},
		{name: "lru", policy: "lru", sendsNoPriority: true, otherStaysAtMost: otherPages * page},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := settings(t)
			c.PageSize, c.Pool.MaxTotalTokens, c.EvictionPolicy, c.LowPriorityFirst = page, pool*page, tt.policy, tt.lowFirst
			h := open(t, c, nil).API().Handler()
			send := func(prompt []int, priority int) (cached int) {
				call := body{"input_ids": prompt, "sampling_params": body{"max_new_tokens": 1, "temperature": 0}}
				if !tt.sendsNoPriority {
					call["priority"] = priority
				}
				_, cached, err := answer(h, call)
				if err != nil {
					t.Fatal(err)
				}
				return cached
			}
			urgent, other := ids(0, urgentPages*page), ids(1, otherPages*page)
			send(urgent, tt.urgent)
			send(other, tt.other)
			send(ids(2, (pool-urgentPages-2)*page), tt.urgent) // leaves two pages beside the urgent ones
			cached := send(urgent, tt.urgent)
			if want := (urgentPages - 1) * page; (cached == want) != tt.urgentStays {
				t.Errorf("%d tokens of the urgent prompt are cached, of %d", cached, want)
			}
			if cached := send(other, tt.other); cached > tt.otherStaysAtMost {
				t.Errorf("%d tokens of the other prompt are cached, at most %d should be", cached, tt.otherStaysAtMost)
			}
		})
	}
}
