package earley

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"pgregory.net/rapid"
)

// distance is the number of symbols to the nearest end, found breadth first; -1 if it is not
// among the first configurations.
func distance(t *rapid.T, a *Automaton, c *Config) int {
	level, seen := []*Config{c}, map[*Config]bool{c: true}
	for n := 0; len(seen) < 1000; n++ {
		var below []*Config
		for _, at := range level {
			if at.CanEnd() {
				return n
			}
			for _, s := range []byte("ab\x07") {
				to, err := next(a, at, s)
				if err != nil {
					t.Fatal(err)
				}
				if to != nil && !seen[to] {
					seen[to] = true
					below = append(below, to)
				}
			}
		}
		level = below
	}
	return -1
}

// failer is a test, of package testing or rapid.
type failer interface {
	Fatalf(format string, args ...any)
}

// follow goes from c to the end, and returns the text in between.
func follow(t failer, a *Automaton, c *Config) (text string) {
	for {
		e, found, err := a.Ending(c)
		if err != nil || !found {
			t.Fatalf("after %q: %v, %v", text, found, err)
		}
		if e.Length == 0 {
			return text
		}
		step := e.Word
		if e.Token >= 0 {
			step = string(rune(e.Token))
		}
		for i := range len(step) {
			to, err := next(a, c, step[i])
			if err != nil {
				t.Fatalf("after %q: %v", text, err)
			}
			if to == nil {
				step = step[:i] // a lazy terminal has ended
				break
			}
			c = to
		}
		if text += step; step == "" {
			t.Fatalf("after %q: no progress", text)
		}
	}
}

// TestEndingIsTheShortest compares endings of random grammars with a search.
func TestEndingIsTheShortest(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) *cfg.Grammar{
		"rules": drawGrammar,
		"bags": func(t *rapid.T) *cfg.Grammar {
			g, _ := drawBag(t)
			if g == nil {
				t.Skip("no text")
			}
			return g
		},
	} {
		t.Run(name, func(t *testing.T) { checkEndings(t, draw) })
	}
}

func checkEndings(t *testing.T, draw func(*rapid.T) *cfg.Grammar) {
	all := texts(5)
	rapid.Check(t, func(t *rapid.T) {
		a, err := New(draw(t), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom(all).Draw(t, "text")
		c := a.Start()
		for i := range len(text) {
			if c, err = next(a, c, text[i]); err != nil {
				t.Fatal(err)
			}
			if c == nil {
				return
			}
		}
		want := distance(t, a, c)
		e, found, err := a.Ending(c)
		if err != nil || !found || want >= 0 && e.Length != want {
			t.Fatalf("%q: %+v, %v, %v; a search finds %d", text, e, found, err, want)
		}
		if way := follow(t, a, c); len(way) != e.Length {
			t.Fatalf("%q: the way to the end is %q, promised are %d", text, way, e.Length)
		}
	})
}

func automaton(t *testing.T, limits Limits, build func(b *cfg.Builder, start cfg.Symbol)) *Automaton {
	t.Helper()
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	start := b.Nonterminal("start")
	build(b, start)
	g, err := b.Build(start)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(g, limits)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEndingOfLongTexts(t *testing.T) {
	long := automaton(t, Limits{}, func(b *cfg.Builder, s cfg.Symbol) {
		b.Add(s, b.Repeat(b.Literal("ab"), 3000, -1), b.Terminal(b.Set.Repeat(b.Set.OneOf(regex.ByteRange('a', 'b')), 2000, 9000)))
	})
	if text := follow(t, long, long.Start()); len(text) != 8000 {
		t.Errorf("%d bytes, want 8000", len(text))
	}
	// Each rule is twice the next one: nobody can say such a text.
	huge := automaton(t, Limits{}, func(b *cfg.Builder, s cfg.Symbol) {
		for range 40 {
			n := b.Nonterminal("n")
			b.Add(s, n, n)
			s = n
		}
		b.Add(s, b.Literal("x"))
	})
	if e, found, err := huge.Ending(huge.Start()); found || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
	full := automaton(t, Limits{Bytes: 20_000}, func(b *cfg.Builder, s cfg.Symbol) {
		b.Add(s, b.Literal("a"), b.Literal(strings.Repeat("bc", 400)), b.Literal("d"))
	})
	if _, _, err := full.Ending(full.Start()); !errors.Is(err, ErrFull) {
		t.Errorf("full tables: %v", err)
	}
}

// TestEndingWithLazyTerminals: they may make the way longer than promised, and it ends all the
// same.
func TestEndingWithLazyTerminals(t *testing.T) {
	a := automaton(t, Limits{}, func(b *cfg.Builder, s cfg.Symbol) {
		b.Add(s, b.Lazy(b.Set.Literal("a")), b.Literal("bbbb"))
		b.Add(s, b.Literal("aa"))
	})
	if text := follow(t, a, a.Start()); text != "abbbb" {
		t.Errorf("%q", text)
	}
}

// TestEndingOfLargeBags: the way to the end of a bag of thousands of entries has the required
// ones, and as many of the others as must come, the shortest first.
func TestEndingOfLargeBags(t *testing.T) {
	const n = 800
	a := automaton(t, Limits{}, func(b *cfg.Builder, s cfg.Symbol) {
		bag := cfg.Bag{Separator: b.Literal(","), Min: n / 2, Max: -1}
		for i := range n {
			bag.Entries = append(bag.Entries, cfg.Entry{Symbols: []cfg.Symbol{b.Literal(fmt.Sprintf("%0*d", 4+i%2, i))}, Required: i%8 == 1})
		}
		b.Add(s, b.Literal("{"), b.Bag("bag", bag), b.Literal("}"))
	})
	text := follow(t, a, a.Start())
	if want := 2 + n/2*4 + n/8 + n/2 - 1; len(text) != want {
		t.Errorf("%d bytes, want %d", len(text), want)
	}
}
