package memory

import (
	"math"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

func gittinsTest(t *testing.T, history int) *treeTest {
	return &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1, Policy: NewGittins(), History: history}), next: 10}
}

// request brings a prompt in one piece.
func (tt *treeTest) request(tokens ...int32) {
	node, pages := tt.Lock("", tokens, len(tokens), nil)
	pages = append(pages, tt.fresh(len(tokens)-len(pages))...)
	tt.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages, Owned: tt.owned(node), Node: node}, nil)
}

// owned is how many pages a handle's path has.
func (tt *treeTest) owned(id messages.NodeID) int {
	if id == messages.RootNode {
		return 0
	}
	n := tt.nodes.at(tt.locked(id))
	return int(n.usage.Depth) + n.pages.len()
}

func (tt *treeTest) wantClass(want int, turn uint32, tokens ...int32) {
	tt.Helper()
	note := tt.usage(tokens...).Note
	if noteClass(note) != want || noteTurnOf(note) != turn {
		tt.Errorf("%v is of class %d, brought in turn %d; want %d and %d", tokens, noteClass(note), noteTurnOf(note), want, turn)
	}
}

// run returns the tokens from, from+1, …, below to.
func run(from, to int32) (tokens []int32) {
	for ; from < to; from++ {
		tokens = append(tokens, from)
	}
	return tokens
}

func later(turn uint32, pause int, long bool) int {
	class := laterTurn + 2*(gaps*turnGroup(turn)+pause)
	if long {
		class++
	}
	return class
}

func TestGittinsSortsTurns(t *testing.T) {
	tt := gittinsTest(t, 0)
	tt.request(run(0, 100)...)
	tt.wantClass(firstTurn+lengths-1, 1, run(0, 99)...)
	tt.wantClass(promptEnd, 1, run(0, 100)...)
	tt.request(run(0, 110)...)
	tt.wantClass(later(2, 0, false), 1, run(0, 99)...)
	tt.wantClass(later(2, 0, false), 2, run(0, 109)...)
	for range 200 {
		tt.request(1000, 1001) // time passes
	}
	tt.request(run(0, 180)...)
	tt.wantClass(later(3, 1, true), 1, run(0, 99)...)
	tt.wantClass(later(3, 1, true), 2, run(0, 109)...)
	tt.wantClass(later(3, 1, true), 3, run(0, 179)...)
	// An answer that is asked for again begins anew, and what both use has one
	// use more than the new conversation has turns.
	tt.request(append(run(0, 109), run(500, 560)...)...)
	tt.wantClass(sharedPrefix+sharing(4), 1, run(0, 99)...)
	tt.wantClass(sharedPrefix+sharing(3), 2, run(0, 109)...)
	tt.wantClass(later(3, 1, true), 3, run(0, 179)...)
	if err := tt.checkInvariants(); err != nil {
		t.Fatal(err)
	}
}

func TestGittinsRemembersTurnsOfEvictedPages(t *testing.T) {
	tt := gittinsTest(t, 1000)
	tt.request(run(0, 100)...)
	tt.request(run(0, 110)...)
	tt.evict(tt.Evictable())
	tt.wantCounts(0, 0, 0)
	tt.request(run(0, 120)...)
	tt.wantClass(later(3, 0, false), 1, run(0, 99)...)
	tt.wantClass(later(3, 0, false), 2, run(0, 109)...)
	tt.wantClass(later(3, 0, false), 3, run(0, 119)...)
}

// TestGittinsIgnoresChunks: a prompt inserted chunk by chunk ends in the same
// classes as one inserted at once.
func TestGittinsIgnoresChunks(t *testing.T) {
	for _, chunks := range [][]int32{{250}, {120, 250}, {101, 130, 190, 250}} {
		tt := gittinsTest(t, 0)
		tt.request(run(0, 100)...)
		for range 250 {
			tt.request(1000, 1001)
		}
		a := tt.admit(run(0, 100)...)
		from := int32(100)
		for i, to := range chunks {
			a.insert(i < len(chunks)-1, run(from, to)...)
			from = to
		}
		tt.wantClass(later(2, 1, true), 1, run(0, 99)...)
		tt.wantClass(later(2, 1, true), 2, run(0, 249)...)
		tt.wantClass(promptEnd, 2, run(0, 250)...)
		if err := tt.checkInvariants(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGittinsLearns: of two kinds of conversation the one that never goes on is
// evicted first, although it is the younger.
func TestGittinsLearns(t *testing.T) {
	tt := gittinsTest(t, 1<<16)
	next := int32(1000)
	for range 600 {
		long := run(next, next+40) // goes on at once
		tt.request(long[:20]...)
		tt.request(long[:22]...)
		tt.request(run(next+100, next+103)...) // short: never
		next += 200
	}
	tt.EvictAll(nil)
	long, short := run(next, next+20), run(next+100, next+103)
	tt.request(long...)
	tt.request(short...)
	tt.evict(4) // the ends of both, which look alike, and two pages more
	if got := tt.Peek("", short); got != 0 {
		t.Errorf("%d pages are left of what never comes back", got)
	}
	if got := tt.Peek("", long); got != len(long)-1 {
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
		var used, risk [gittinsClasses][ageBins]float64
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

// TestGittinsIndexOfKnownHazards: with a constant hazard keeping longer makes
// no difference, and the index is hits per tick at any age; before a hazard
// that comes late the index grows as it comes nearer.
func TestGittinsIndexOfKnownHazards(t *testing.T) {
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
		t.Errorf("index %g when nothing more is to be hoped for", past)
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

// TestGittinsDependsOnOperationsOnly: equal operations evict equal pages,
// whatever is looked at in between and wherever the child table puts things.
func TestGittinsDependsOnOperationsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var trees [2]*Tree
		var freed [2][]messages.Page
		for i := range trees {
			trees[i] = NewTree(TreeOptions{PageSize: 2, Policy: NewGittins(), History: 64, HashSeed: uint64(i) * 977})
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
				if err := tree.checkInvariants(); err != nil {
					t.Fatal(err)
				}
				evicted, err := tree.Evict(min(evict, tree.Evictable()), nil)
				if err != nil {
					t.Fatal(err)
				}
				freed[i] = append(freed[i], pagesOf(evicted)...)
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
