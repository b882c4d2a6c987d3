package radix

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// PeekPath matches what Peek matches, changes nothing, and names nodes that a
// lock of the same prefix then holds.
func TestPeekPathAgreesWithPeekAndLock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := rapid.SampledFrom([]int{1, 4}).Draw(t, "page")
		tree := NewTree(TreeOptions{PageSize: page})
		var next messages.Page
		draw := func(label string) []int32 {
			tokens := make([]int32, rapid.IntRange(0, 40).Draw(t, label))
			fork := rapid.IntRange(0, 40).Draw(t, "fork")
			for i := range tokens {
				if i >= fork {
					tokens[i] = 1 + int32(fork%3)
				}
			}
			return tokens
		}
		for range rapid.IntRange(0, 8).Draw(t, "inserts") {
			tokens := draw("inserted")
			pages := make([]messages.Page, len(tokens)/page)
			for i := range pages {
				next++
				pages[i] = next
			}
			if len(pages) > 0 {
				tree.Insert(messages.PrefixInsert{Tokens: tokens[:len(pages)*page], Pages: pages}, nil)
			}
		}
		tokens := draw("looked up")
		nodes := tree.Nodes()
		matched, path := tree.PeekPath("", tokens, 100)
		if want := tree.Peek("", tokens); matched != want || (matched == 0) != (len(path) == 0) || tree.Nodes() != nodes {
			t.Fatalf("%d tokens match over %v, want %d; %d nodes became %d", matched, path, want, nodes, tree.Nodes())
		}
		if _, other := tree.PeekPath("elsewhere", tokens, 100); other != nil {
			t.Fatalf("another namespace has %v", other)
		}
		if n, short := tree.PeekPath("", tokens, 1); n != matched || !slices.Equal(short, path[:min(1, len(path))]) {
			t.Fatalf("a path of at most one node is %v with %d tokens, want the first of %v", short, n, path)
		}
		node, pages := tree.Lock("", tokens, len(tokens), nil)
		if len(pages)*page != matched {
			t.Fatalf("a lock holds %d pages, the peek saw %d tokens", len(pages), matched)
		}
		if matched == 0 {
			return
		}
		_, locked := tree.PeekPath("", tokens, 100)
		if locked[len(locked)-1] != node || !slices.Equal(locked[:len(locked)-1], path[:len(path)-1]) {
			t.Fatalf("the lock holds node %d, the path was %v and is %v", node, path, locked)
		}
	})
}

func TestPeekPrefixesStopsAtItsBudget(t *testing.T) {
	c := New(Options{PageSize: 1})
	var out messages.Outbox
	c.Handle(0, &messages.CommitPlan{Plan: 1, Inserts: []messages.PrefixInsert{{Tokens: []int32{1, 2, 3, 4}, Pages: []messages.Page{1, 2, 3, 4}}}}, &out)
	peek := &messages.PeekPrefixes{MaxTokens: 4, PathNodes: 9}
	for id, tokens := range [][]int32{{1, 2, 3}, {9}, {1, 2, 3, 4, 5}, {1}} {
		peek.Prefixes = append(peek.Prefixes, messages.PrefixPeek{ID: messages.RequestID(id), Tokens: tokens})
	}
	asked := func() []messages.PrefixPeeked {
		out.Reset()
		c.Handle(0, peek, &out)
		if len(out.Sends) != 1 || out.Sends[0].To != messages.Queue {
			t.Fatalf("sent %v", out.Sends)
		}
		return out.Sends[0].Msg.(*messages.PrefixesPeeked).Peeked
	}
	got := asked()
	if len(got) != 3 || got[0].Tokens != 3 || got[1].Tokens != 0 || got[2].Tokens != 4 || len(got[0].Path) != 1 || got[1].Path != nil {
		t.Errorf("the cache answered %+v, want 3, 0 and 4 tokens and then to stop", got)
	}
	peek.MaxTokens = 0
	if got := asked(); len(got) != 1 || got[0].Tokens != 3 {
		t.Errorf("without a budget the cache answered %+v, want the first alone", got)
	}
	c = New(Options{PageSize: 1, Disabled: true})
	peek.MaxTokens = 4
	if got := asked(); len(got) != 4 || got[0].Tokens != 0 {
		t.Errorf("a disabled cache answered %+v", got)
	}
}
