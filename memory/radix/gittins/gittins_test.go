package gittins

import (
	"math"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// spy is a Policy that keeps what the tree told it of the last insertion.
type spy struct {
	*Policy
	path []radix.PathNode
}

func (s *spy) Used(now uint64, path []radix.PathNode, first, last bool) {
	s.Policy.Used(now, path, first, last)
	s.path = append(s.path[:0], path...)
}

// cache is a tree under the policy, with new page numbers for what is put into
// it.
type cache struct {
	*testing.T
	*radix.Tree
	spy  *spy
	next messages.Page
}

func newCache(t *testing.T, history int) *cache {
	s := &spy{Policy: New()}
	return &cache{T: t, Tree: radix.NewTree(radix.TreeOptions{PageSize: 1, Policy: s, History: history}), spy: s, next: 10}
}

// request brings a prompt, inserted in chunks that end at these lengths and at
// its end.
func (c *cache) request(tokens []int32, chunks ...int) {
	node, pages := c.Lock("", tokens, len(tokens), nil)
	owned := len(pages)
	for len(pages) < len(tokens) {
		pages = append(pages, c.next)
		c.next++
	}
	for _, end := range append(chunks, len(tokens)) {
		out, _ := c.Insert(messages.PrefixInsert{Tokens: tokens[:end], Pages: pages[:end], Owned: owned, Node: node, Keep: end < len(tokens)}, nil)
		node, owned = out.Node, end
	}
	if err := c.Check(); err != nil {
		c.Fatal(err)
	}
}

// bring is request for tokens that are listed.
func (c *cache) bring(tokens ...int32) { c.request(tokens) }

func (c *cache) evict(n int) {
	c.Helper()
	if _, err := c.Evict(n, nil); err != nil {
		c.Fatal(err)
	}
}

// wantClass looks at a page on the path of the last request, by its index.
func (c *cache) wantClass(want int, turn uint32, page int) {
	c.Helper()
	for _, n := range c.spy.path {
		if first := int(n.Usage.Depth); page < first || page >= first+n.Pages {
			continue
		}
		if note := n.Usage.Note; noteClass(note) != want || noteTurnOf(note) != turn {
			c.Errorf("page %d is of class %d, brought in turn %d; want %d and %d", page, noteClass(note), noteTurnOf(note), want, turn)
		}
		return
	}
	c.Errorf("page %d is not on the path", page)
}

// run returns the tokens from, from+1, …, below to.
func run(from, to int32) (tokens []int32) {
	for ; from < to; from++ {
		tokens = append(tokens, from)
	}
	return tokens
}

func later(turn uint32, pause int, long bool) int {
	class := laterTurn + 2*(gaps*group(uint64(turn), mostTurns[:])+pause)
	if long {
		class++
	}
	return class
}

func TestTurns(t *testing.T) {
	c := newCache(t, 0)
	c.request(run(0, 100))
	c.wantClass(firstTurn+lengths-1, 1, 98)
	c.wantClass(promptEnd, 1, 99)
	c.request(run(0, 110))
	c.wantClass(later(2, 0, false), 1, 98)
	c.wantClass(later(2, 0, false), 2, 108)
	for range 200 {
		c.bring(1000, 1001) // time passes
	}
	c.request(run(0, 180))
	c.wantClass(later(3, 1, true), 1, 98)
	c.wantClass(later(3, 1, true), 2, 108)
	c.wantClass(later(3, 1, true), 3, 178)
	apart := c.spy.path[0].Usage // of the page at the end
	rest := c.spy.path[1].Usage
	// An answer that is asked for again begins anew, and what both use has one
	// use more than the new conversation has turns.
	c.request(append(run(0, 109), run(500, 560)...))
	c.wantClass(sharedPrefix+group(4, mostHits[:]), 1, 98)
	c.wantClass(sharedPrefix+group(3, mostHits[:]), 2, 108)
	if noteClass(apart.Note) != promptEnd || noteClass(rest.Note) != later(3, 1, true) || noteTurnOf(rest.Note) != 3 {
		t.Errorf("the other answer changed: classes %d and %d", noteClass(apart.Note), noteClass(rest.Note))
	}
}

func TestTurnsOfEvictedPages(t *testing.T) {
	c := newCache(t, 1000)
	c.request(run(0, 100))
	c.request(run(0, 110))
	c.evict(c.Evictable())
	if c.Nodes() != 0 {
		t.Fatalf("%d nodes are left", c.Nodes())
	}
	c.request(run(0, 120))
	c.wantClass(later(3, 0, false), 1, 98)
	c.wantClass(later(3, 0, false), 2, 108)
	c.wantClass(later(3, 0, false), 3, 118)
}

// TestChunksChangeNothing: a prompt inserted chunk by chunk ends in the same
// classes as one inserted at once.
func TestChunksChangeNothing(t *testing.T) {
	for _, chunks := range [][]int{nil, {120}, {101, 130, 190}} {
		c := newCache(t, 0)
		c.request(run(0, 100))
		for range 250 {
			c.bring(1000, 1001)
		}
		c.request(run(0, 250), chunks...)
		c.wantClass(later(2, 1, true), 1, 98)
		c.wantClass(later(2, 1, true), 2, 248)
		c.wantClass(promptEnd, 2, 249)
	}
}

// TestLearns: of two kinds of conversation the one that never goes on is evicted
// first, although it is the younger.
func TestLearns(t *testing.T) {
	c := newCache(t, 1<<16)
	next := int32(1000)
	for range 600 {
		long := run(next, next+40) // goes on at once
		c.request(long[:20])
		c.request(long[:22])
		c.request(run(next+100, next+103)) // short: never
		next += 200
	}
	c.EvictAll(nil)
	long, short := run(next, next+20), run(next+100, next+103)
	c.request(long)
	c.request(short)
	c.evict(4) // the ends of both, which look alike, and two pages more
	if got := c.Peek("", short); got != 0 {
		t.Errorf("%d pages are left of what never comes back", got)
	}
	if got := c.Peek("", long); got != len(long)-1 {
		t.Errorf("%d pages are left of what always comes back", got)
	}
}

// TestLifeTableLikeTwin compares hazards with a count over all lives.
func TestLifeTableLikeTwin(t *testing.T) {
	type life struct {
		class      int
		begin, end uint64 // end 0: not yet
		pages      int
		forgotten  bool
	}
	rapid.Check(t, func(t *rapid.T) {
		table := newLifeTable()
		var lives []*life
		now := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			ticks := rapid.SampledFrom([]uint64{1, 1, 1, 2, 7, 300, maxAge}).Draw(t, "ticks")
			if now+ticks < halfLife { // that the past counts half then is not the twin's matter
				now += ticks
			} else {
				break
			}
			switch open := slices.IndexFunc(lives, func(l *life) bool { return l.end == 0 }); {
			case open >= 0 && rapid.Bool().Draw(t, "end"):
				l := lives[rapid.IntRange(open, len(lives)-1).Draw(t, "which")]
				if l.end != 0 {
					continue
				}
				l.end = now
				if l.forgotten = rapid.IntRange(0, 9).Draw(t, "forget") == 0; l.forgotten {
					table.forget(l.class, l.begin, l.pages, now)
				} else {
					table.reused(l.class, l.begin, l.pages, now)
				}
			default:
				l := &life{class: rapid.IntRange(1, 3).Draw(t, "class"), begin: now, pages: rapid.IntRange(1, 5).Draw(t, "pages")}
				lives = append(lives, l)
				table.begin(l.class, now, l.pages)
			}
		}
		table.advance(now)
		var used, risk [classes][ageBins]float64
		for _, l := range lives {
			watched := now - l.begin
			if l.end != 0 {
				watched = l.end - l.begin
			}
			for bin := range ageBins {
				if binAge[bin] <= min(watched, maxAge-1) {
					risk[l.class][bin] += float64(l.pages)
				}
			}
			if l.end != 0 && !l.forgotten && watched < maxAge {
				used[l.class][ageBin(watched)] += float64(l.pages)
			}
		}
		if used != table.used || risk != table.risk {
			t.Fatalf("used %v\nwant %v\nrisk %v\nwant %v", table.used[1:4], used[1:4], table.risk[1:4], risk[1:4])
		}
	})
}

// TestIndexOfKnownHazards: with a constant hazard keeping longer makes
// no difference, and the index is hits per tick at any age; before a hazard
// that comes late the index grows as it comes nearer.
func TestIndexOfKnownHazards(t *testing.T) {
	const many = 1e12 // drowns the prior
	fill := func(perTick func(bin int) float64) (index [ageBins]float64) {
		table := newLifeTable()
		for bin := range ageBins {
			ticks := float64(binAge[bin+1] - binAge[bin])
			table.risk[firstTurn][bin] = many
			table.used[firstTurn][bin] = many * min(1, perTick(bin)*ticks)
		}
		table.index(firstTurn, 1, &index)
		return index
	}
	const rate = 1e-5
	for bin, got := range fill(func(int) float64 { return rate }) {
		if got < 0.95*rate || got > 1.1*rate {
			t.Errorf("constant hazard: index %g at age %d, want %g", got, binAge[bin], rate)
		}
	}
	hump := fill(func(bin int) float64 {
		if bin == 12 {
			return 1e-3
		}
		return 0
	})
	for bin := 1; bin <= 12; bin++ {
		if binAge[bin] > binAge[bin-1] && hump[bin] <= hump[bin-1] {
			t.Errorf("index %g at age %d, %g at %d", hump[bin-1], binAge[bin-1], hump[bin], binAge[bin])
		}
	}
	if past := slices.Max(hump[13:]); past > 1e-9 {
		t.Errorf("index %g when no hit can come any more", past)
	}
}

func TestAgeBins(t *testing.T) {
	if binAge[ageBins-1] > maxAge || binAge[ageBins] < maxAge {
		t.Fatalf("the last bin is [%d, %d), lives are watched for %d", binAge[ageBins-1], binAge[ageBins], maxAge)
	}
	for age := uint64(1); age < 3*maxAge; age++ {
		want := min(int(2*math.Log2(float64(age))+1e-9), ageBins-1)
		if got := ageBin(age); binAge[got] != binAge[want] {
			t.Fatalf("age %d is in bin %d from %d on, want %d", age, got, binAge[got], want)
		}
	}
}

// TestDependsOnOperationsOnly: equal operations evict equal pages,
// whatever is looked at in between and wherever the child table puts things.
func TestDependsOnOperationsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var trees [2]*radix.Tree
		var freed [2][]messages.Page
		for i := range trees {
			trees[i] = radix.NewTree(radix.TreeOptions{PageSize: 2, Policy: New(), History: 64, HashSeed: uint64(i) * 977})
		}
		next := messages.Page(1)
		var prompts [][]int32
		for range rapid.IntRange(1, 80).Draw(t, "requests") {
			prompt := []int32{0, 0}
			if len(prompts) > 0 && rapid.Bool().Draw(t, "goes on") {
				prompt = rapid.SampledFrom(prompts).Draw(t, "after")
				prompt = slices.Clone(prompt[:2*rapid.IntRange(1, len(prompt)/2).Draw(t, "kept")])
			}
			for range rapid.IntRange(1, 6).Draw(t, "new") {
				prompt = append(prompt, 0, rapid.Int32Range(0, 2).Draw(t, "token"))
			}
			prompts = append(prompts, prompt)
			chunk := 2 * rapid.IntRange(1, len(prompt)/2).Draw(t, "chunk")
			aborted := rapid.IntRange(0, 9).Draw(t, "aborted") == 0
			evict := rapid.IntRange(0, 8).Draw(t, "evict")
			first := next
			for i, tree := range trees {
				if i == 1 {
					tree.Peek("", prompt)
					_ = tree.String()
				}
				next = first
				node, pages := tree.Lock("", prompt, len(prompt), nil)
				owned := len(pages)
				for end := owned*2 + chunk; ; end += chunk {
					end = min(end, len(prompt))
					for len(pages) < end/2 {
						pages = append(pages, next)
						next++
					}
					last := end == len(prompt)
					if last && aborted {
						tree.Unlock(node)
						break
					}
					var done messages.PrefixInserted
					done, freed[i] = tree.Insert(messages.PrefixInsert{Tokens: prompt[:end], Pages: pages, Owned: owned, Node: node, Keep: !last}, freed[i])
					if last {
						break
					}
					node, owned = done.Node, len(pages)
				}
				if err := tree.Check(); err != nil {
					t.Fatal(err)
				}
				evicted, err := tree.Evict(min(evict, tree.Evictable()), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range evicted {
					freed[i] = run.AppendTo(freed[i])
				}
			}
		}
		if !slices.Equal(freed[0], freed[1]) {
			t.Fatalf("evicted %v and %v", freed[0], freed[1])
		}
		for _, tree := range trees {
			if tree.Protected() != 0 {
				t.Fatalf("%d pages are locked at the end", tree.Protected())
			}
		}
	})
}
