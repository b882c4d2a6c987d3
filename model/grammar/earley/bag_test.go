package earley

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"pgregory.net/rapid"
)

// drawBag returns two grammars of the same texts: one with a bag, and one in
// which each way to fill it has rules of its own, of up to 12 entries.
func drawBag(t *rapid.T) (withBag, withRules *cfg.Grammar) {
	type entry struct {
		parts             []int
		required, repeats bool
		meets             uint32
	}
	demands := rapid.IntRange(0, 2).Draw(t, "demands")
	lo := rapid.IntRange(0, 4).Draw(t, "min")
	hi := rapid.SampledFrom([]int{-1, -1, 0, 1, 2, 3, 4, 6}).Draw(t, "max")
	entries := make([]entry, rapid.IntRange(0, 4).Draw(t, "entries"))
	for i := range entries {
		// One part has no empty text: an entry must not have one.
		e := entry{parts: rapid.SliceOfN(rapid.IntRange(0, 6), 0, 2).Draw(t, "parts")}
		e.parts = slices.Insert(e.parts, rapid.IntRange(0, len(e.parts)).Draw(t, "place"), rapid.IntRange(0, 2).Draw(t, "part"))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			e.required = true
		case 1:
			e.repeats = true
			e.meets = uint32(rapid.IntRange(0, 1<<demands-1).Draw(t, "meets"))
		}
		entries[i] = e
	}
	separator := rapid.IntRange(0, 2).Draw(t, "separator")
	outer := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 1).Draw(t, "outer")

	build := func(fill func(b *cfg.Builder, body cfg.Symbol, symbols []cfg.Symbol) cfg.Symbol) *cfg.Grammar {
		b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
		var symbols []cfg.Symbol
		for _, p := range []string{"a", "b", "ab?", "a*"} {
			term, err := b.Set.Parse(p, regex.Options{})
			if err != nil {
				t.Fatal(err)
			}
			symbols = append(symbols, b.Terminal(term))
		}
		never := b.Nonterminal("never")
		symbols = append(symbols, b.Token(7), never)
		start := b.Nonterminal("start")
		symbols = append(symbols, start)
		body := fill(b, start, symbols)
		list := []cfg.Symbol{body}
		for _, i := range outer {
			list = append(list, symbols[i])
		}
		b.Add(start, list...)
		g, err := b.Build(start)
		if err != nil {
			return nil
		}
		return g
	}
	withBag = build(func(b *cfg.Builder, _ cfg.Symbol, symbols []cfg.Symbol) cfg.Symbol {
		bag := cfg.Bag{Separator: symbols[separator], Demands: demands, Min: lo, Max: hi}
		for _, e := range entries {
			x := cfg.Entry{Required: e.required, Repeats: e.repeats, Meets: e.meets}
			for _, i := range e.parts {
				x.Symbols = append(x.Symbols, symbols[i])
			}
			bag.Entries = append(bag.Entries, x)
		}
		return b.Bag("bag", bag)
	})
	withRules = build(func(b *cfg.Builder, _ cfg.Symbol, symbols []cfg.Symbol) cfg.Symbol {
		states := map[string]cfg.Symbol{}
		var state func(seen, count int, met uint32) cfg.Symbol
		state = func(seen, count int, met uint32) cfg.Symbol {
			key := fmt.Sprint(seen, count, met)
			if s, ok := states[key]; ok {
				return s
			}
			s := b.Nonterminal("state " + key)
			states[key] = s
			ends := count >= lo && met == 1<<demands-1
			for i, e := range entries {
				ends = ends && (!e.required || seen>>i&1 != 0)
			}
			if ends {
				b.Add(s)
			}
			if count == 12 || count == hi {
				return s
			}
			for i, e := range entries {
				if seen>>i&1 != 0 {
					continue
				}
				var list []cfg.Symbol
				if count > 0 {
					list = append(list, symbols[separator])
				}
				for _, p := range e.parts {
					list = append(list, symbols[p])
				}
				next := seen
				if !e.repeats {
					next |= 1 << i
				}
				b.Add(s, append(list, state(next, count+1, met|e.meets))...)
			}
			return s
		}
		return state(0, 0, 0)
	})
	return withBag, withRules
}

// TestBags compares all texts of up to five symbols with those of the rules
// that a bag stands for, the beginnings of texts included, and checks that
// whatever is alive can be completed.
func TestBags(t *testing.T) {
	all := texts(5)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		bag, rules := drawBag(t)
		if bag == nil || rules == nil {
			if bag != rules {
				t.Fatalf("with the bag there are texts: %v, with rules: %v", bag != nil, rules != nil)
			}
			return
		}
		compared++
		a, err := New(bag, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		twin, err := New(rules, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		at, want := map[string]*Config{"": a.Start()}, map[string]*Config{"": twin.Start()}
		for _, text := range all {
			if n := len(text) - 1; n >= 0 {
				if at[text[:n]] == nil {
					continue
				}
				if at[text], err = next(a, at[text[:n]], text[n]); err != nil {
					t.Fatal(err)
				}
				if want[text], err = next(twin, want[text[:n]], text[n]); err != nil {
					t.Fatal(err)
				}
			}
			got, is := at[text], want[text]
			if (got == nil) != (is == nil) || got != nil && got.CanEnd() != is.CanEnd() {
				t.Fatalf("%q: the bag and its rules differ", text)
			}
			if got != nil && len(text) < 4 && isDeadEnd(t, a, got) {
				t.Fatalf("%q is a dead end", text)
			}
		}
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// TestImportOfBags moves configurations within bags into fresh automatons.
func TestImportOfBags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _ := drawBag(t)
		if g == nil {
			return
		}
		checkImport(t, g)
	})
}

// TestBagsAreFilledLazily: of a bag of 200 entries only the states on the way
// of a text are made.
func TestBagsAreFilledLazily(t *testing.T) {
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	bag := cfg.Bag{Separator: b.Literal(","), Max: -1}
	for i := range 200 {
		bag.Entries = append(bag.Entries, cfg.Entry{Symbols: []cfg.Symbol{b.Literal(fmt.Sprintf("%03d", i))}, Required: i%2 == 0})
	}
	g, err := b.Build(b.Bag("numbers", bag))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(g, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) *Config {
		c := a.Start()
		for i := 0; i < len(text) && c != nil; i++ {
			if c, err = a.Next(c, text[i]); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	text := ""
	for i := 198; i >= 0; i -= 2 {
		text += fmt.Sprintf("%03d,", i)
	}
	if c := read(text[:len(text)-1]); c == nil || !c.CanEnd() {
		t.Error("all required entries do not end the text")
	}
	if c := read(text[:len(text)-5]); c == nil || c.CanEnd() {
		t.Error("the text may end before its last required entry")
	}
	if read("198,198") != nil {
		t.Error("an entry comes twice")
	}
	if rows, _, _ := a.Size(); rows > 300 || len(a.states) > 102 {
		t.Errorf("%d rows, %d states", rows, len(a.states))
	}
}
