package former

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// running adds a sequence that runs: prompt and output tokens, all done but the
// newest, cached tokens of them found at admission.
func (f *Core) addRunning(prompt, output, cached int, change func(*messages.EngineRequest)) *sequence {
	s := sequenceOf(messages.RequestID(len(f.batch.running)+1), prompt, output, change)
	s.state, s.done = decoding, prompt+output-1
	if output == 0 {
		s.state, s.done = prefilling, cached
	}
	s.lease.Cached = cached
	s.lease.Pages = make([]messages.Page, (len(s.tokens)+f.opt.PageSize-1)/f.opt.PageSize)
	f.batch.running = append(f.batch.running, s)
	return s
}

// The planners' answers for the running batch as it is.
func choose(f *Core, need int) []victim {
	v := f.snapshot()
	return f.pressure.choose(&v, need)
}

func retractable(f *Core, need int, prompts bool) []victim {
	v := f.snapshot()
	return f.pressure.retractable(&v, need, prompts)
}

func preemptible(f *Core, r *messages.EngineRequest, pages int) []victim {
	v := f.snapshot()
	v.settled = true
	return f.pressure.preempt(&v, r, pages)
}

func headroom(f *Core) int {
	v := f.snapshot()
	return v.headroom()
}

func ids(list []victim) (ids []messages.RequestID) {
	for _, v := range list {
		ids = append(ids, v.s.req.ID)
	}
	return ids
}

// What a retraction costs and brings, with pages of 4.
func TestVictimOf(t *testing.T) {
	for _, c := range []struct {
		name                   string
		prompt, output, cached int
		cacheOff               bool
		need                   int
		frees, cost            int
	}{
		{"the partial page only", 8, 4, 0, false, 0, 3 + 5, 3},
		{"what is needed is evicted", 8, 4, 0, false, 8, 3 + 5, 3 + 2*4},
		{"what needs no eviction comes first", 8, 4, 0, false, 6, 3 + 5, 3},
		{"shared pages neither free nor cost", 8, 4, 8, false, 8, 1 + 5, 3},
		{"a prompt that has not begun", 40, 0, 8, false, 8, 8, 0},
		{"a prompt that has not begun, all of it needed", 40, 0, 8, false, 20, 8, 0},
		{"without a cache", 8, 4, 0, true, 1, 3 + 5, 11},
	} {
		f := New(options(func(o *Options) { o.CacheDisabled = c.cacheOff }))
		v := newVictim(f.addRunning(c.prompt, c.output, c.cached, nil), c.need, f.opt)
		if v.frees != c.frees || v.cost != c.cost {
			t.Errorf("%s: frees %d pages and costs %d tokens, want %d and %d", c.name, v.frees, v.cost, c.frees, c.cost)
		}
	}
}

// Among equals SGLang's order decides: the fewest output tokens, the longest
// prompt, the latest.
func TestVictimsAmongEquals(t *testing.T) {
	f := New(options(func(o *Options) { o.Pages = 1000 }))
	add := func(prompt, output int) messages.RequestID { return f.addRunning(prompt, output, 0, nil).req.ID }
	oldest, long := add(5, 8), add(6, 7)
	later, latest := add(5, 8), add(5, 8)
	few := add(8, 5) // all of them 13 tokens
	list := cover(retractable(f, 1, true), 1000, cheapest(1000))
	if want := []messages.RequestID{few, long, latest, later, oldest}; !slices.Equal(ids(list), want) {
		t.Errorf("they give way in the order %v, want %v", ids(list), want)
	}
	if got := choose(f, 1000); len(got) != 4 {
		t.Errorf("%d of 5 give way, one has to go on", len(got))
	}
}

// A long prompt that has not begun gives way before many that decode, and
// alone, since it frees enough.
func TestPromptsGiveWay(t *testing.T) {
	f := New(options(func(o *Options) { o.Pages = 1000 }))
	for range 4 {
		f.addRunning(8, 5, 0, nil)
	}
	long := f.addRunning(100, 0, 0, nil)
	if got := ids(choose(f, 10)); !slices.Equal(got, []messages.RequestID{long.req.ID}) {
		t.Errorf("%v give way, want the prompt %d", got, long.req.ID)
	}
	if got := cover(retractable(f, 1, false), 1, cheapest(1)); len(got) != 1 || got[0].s == long {
		t.Errorf("a forced retraction takes %v", ids(got))
	}
}

// Lower priorities give way first, whatever it costs, if priorities count.
func TestVictimsByPriority(t *testing.T) {
	for _, c := range []struct {
		on, lowFirst bool
		want         messages.RequestID
	}{{false, false, 3}, {true, false, 1}, {true, true, 2}} {
		f := New(options(func(o *Options) { o.Pages, o.PriorityPreemption, o.LowPriorityFirst = 1000, c.on, c.lowFirst }))
		for _, priority := range []int32{1, 9, 5} {
			f.addRunning(16, 4+int(priority)%5, 0, func(r *messages.EngineRequest) { r.Priority = priority })
		}
		f.batch.running[2].done = 16 // the cheapest
		if got := ids(choose(f, 1)); !slices.Equal(got, []messages.RequestID{c.want}) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Victims cover the need if all together can, none of them could be spared,
// and none that is spared is cheaper than all of them.
func TestNoVictimTooMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := New(options(func(o *Options) { o.Pages, o.CacheDisabled = 1000, rapid.Bool().Draw(t, "nocache") }))
		for range rapid.IntRange(2, 12).Draw(t, "running") {
			prompt := rapid.IntRange(1, 80).Draw(t, "prompt")
			cached := rapid.IntRange(0, (prompt-1)/4).Draw(t, "cached") * 4
			f.addRunning(prompt, rapid.IntRange(0, 40).Draw(t, "output"), cached, nil)
		}
		need := rapid.IntRange(1, 60).Draw(t, "need")
		all := slices.Clone(retractable(f, need, true))
		sum := func(list []victim) (n int) {
			for _, v := range list {
				n += v.frees
			}
			return n
		}
		chosen := choose(f, need)
		if len(chosen) >= len(f.batch.running) {
			t.Fatal("none goes on")
		}
		if covered := sum(chosen); covered < need {
			if len(chosen) < len(f.batch.running)-1 && sum(all) >= need {
				t.Fatalf("%d victims free %d of %d pages, all together %d", len(chosen), covered, need, sum(all))
			}
			return
		}
		for _, v := range chosen {
			if sum(chosen)-v.frees >= need {
				t.Fatalf("request %d could have been spared", v.s.req.ID)
			}
		}
	})
}
