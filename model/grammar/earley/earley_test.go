package earley

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"pgregory.net/rapid"
)

// drawGrammar returns a random grammar over the bytes a and b and the special
// token 7, small and with every vice: left and right recursion, empty rules,
// cycles, ambiguity, terminals that overlap.
func drawGrammar(t *rapid.T) *cfg.Grammar {
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	var symbols []cfg.Symbol
	n := rapid.IntRange(1, 4).Draw(t, "nonterminals")
	for i := range n {
		symbols = append(symbols, b.Nonterminal(fmt.Sprint("n", i)))
	}
	for _, p := range []string{"a", "b", "ab", "a+", "(?:ab)*", "[ab]{2}", "a(?=b)b?", "(?!aa)[ab]{1,3}"} {
		term, err := b.Set.Parse(p, regex.Options{})
		if err != nil {
			t.Fatal(err)
		}
		symbols = append(symbols, b.Terminal(term))
	}
	symbols = append(symbols, b.Token(7))
	for i := range n {
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			b.Add(symbols[i], rapid.SliceOfN(rapid.SampledFrom(symbols), 0, 3).Draw(t, "right side")...)
		}
	}
	g, err := b.Build(symbols[0])
	if err != nil {
		t.Skip(err)
	}
	return g
}

// twin says whether g derives text by asking each rule for each piece of it,
// until nothing new is found. The byte 7 stands for the special token.
type twin struct {
	g    *cfg.Grammar
	text string
	has  map[[3]int]bool // nonterminal, from, to
}

func newTwin(g *cfg.Grammar, text string) *twin {
	w := &twin{g, text, map[[3]int]bool{}}
	for changed := true; changed; {
		changed = false
		for _, r := range g.Rules {
			for i := range len(text) + 1 {
				for _, j := range w.ends(r.RHS, i) {
					if key := [3]int{int(r.LHS), i, j}; !w.has[key] {
						w.has[key] = true
						changed = true
					}
				}
			}
		}
	}
	return w
}

func (w *twin) ends(rhs []cfg.Symbol, from int) []int {
	at := map[int]bool{from: true}
	for _, s := range rhs {
		to := map[int]bool{}
		for i := range at {
			for j := i; j <= len(w.text); j++ {
				if !s.IsTerminal() && w.has[[3]int{int(s), i, j}] || s.IsTerminal() && w.matches(int(^s), w.text[i:j]) {
					to[j] = true
				}
			}
		}
		at = to
	}
	var out []int
	for i := range at {
		out = append(out, i)
	}
	return out
}

func (w *twin) matches(terminal int, text string) bool {
	t := w.g.Terminals[terminal]
	if t.Token >= 0 {
		return text == "\x07"
	}
	return w.g.Set.Matches(t.Term, text)
}

// texts lists every text of up to max symbols.
func texts(max int) []string {
	out := []string{""}
	for i := 0; len(out[i]) < max; i++ {
		for _, c := range "ab\x07" {
			out = append(out, out[i]+string(c))
		}
	}
	return out
}

func next(a *Automaton, c *Config, symbol byte) (*Config, error) {
	if symbol == 7 {
		return a.NextToken(c, 7)
	}
	return a.Next(c, symbol)
}

// TestAgainstTheTwin compares all texts of up to four symbols, and checks that
// whatever is alive can be completed.
func TestAgainstTheTwin(t *testing.T) {
	all := texts(4)
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrammar(t)
		a, err := New(g, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]*Config{"": a.Start()}
		for _, text := range all[1:] {
			if before := at[text[:len(text)-1]]; before != nil {
				if at[text], err = next(a, before, text[len(text)-1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, text := range all {
			if len(text) < 4 {
				continue
			}
			w := newTwin(g, text) // answers for every prefix
			for n := range len(text) + 1 {
				got := at[text[:n]] != nil && at[text[:n]].CanEnd()
				if want := w.has[[3]int{int(g.Start), 0, n}]; got != want {
					t.Fatalf("%q: %v, the twin says %v; rules %v", text[:n], got, want, g.Rules)
				}
			}
		}
		for text, c := range at {
			if c != nil && len(text) < 4 && isDeadEnd(t, a, c) {
				t.Fatalf("%q is a dead end", text)
			}
		}
	})
}

// isDeadEnd reports whether everything that can follow c was looked at, and
// the text may end nowhere.
func isDeadEnd(t *rapid.T, a *Automaton, c *Config) bool {
	queue, seen := []*Config{c}, map[*Config]bool{c: true}
	for i := 0; i < len(queue); i++ {
		if queue[i].CanEnd() || i == 1000 {
			return false
		}
		for _, s := range []byte("ab\x07") {
			n, err := next(a, queue[i], s)
			if err != nil {
				t.Fatal(err)
			}
			if n != nil && !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return true
}

// TestImport moves configurations into fresh automatons on the way, which must
// change nothing.
func TestImport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkImport(t, drawGrammar(t)) })
}

func checkImport(t *rapid.T, g *cfg.Grammar) {
	a, err := New(g, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b, c := a, a.Start()
	d := c
	for range 12 {
		s := rapid.SampledFrom([]byte("ab\x07")).Draw(t, "symbol")
		if rapid.Bool().Draw(t, "move") {
			fresh, err := b.Fresh()
			if err != nil {
				t.Fatal(err)
			}
			if d, err = fresh.Import(b, d); err != nil {
				t.Fatal(err)
			}
			b = fresh
		}
		if c, err = next(a, c, s); err != nil {
			t.Fatal(err)
		}
		if d, err = next(b, d, s); err != nil {
			t.Fatal(err)
		}
		if (c == nil) != (d == nil) || c != nil && c.CanEnd() != d.CanEnd() {
			t.Fatal("the imported configuration goes another way")
		}
		if c == nil {
			return
		}
	}
}

// TestTablesStaySmall: lists and recursion on either side come back to rows
// that are known.
func TestTablesStaySmall(t *testing.T) {
	for name, rules := range map[string]func(*cfg.Builder, cfg.Symbol, cfg.Symbol){
		"left":  func(b *cfg.Builder, s, x cfg.Symbol) { b.Add(s, s, b.Literal(","), x); b.Add(s, x) },
		"right": func(b *cfg.Builder, s, x cfg.Symbol) { b.Add(s, x, b.Literal(","), s); b.Add(s, x) },
	} {
		b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
		s, x := b.Nonterminal("s"), b.Nonterminal("x")
		b.Add(x, b.Literal("a"))
		b.Add(x, b.Literal("("), s, b.Literal(")"))
		rules(b, s, x)
		g, err := b.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(g, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c := a.Start()
		for _, ch := range []byte(strings.Repeat("(a,(a,a,a),a),a,", 1000)) {
			if c, err = a.Next(c, ch); err != nil || c == nil {
				t.Fatalf("%s: %v, %v", name, c, err)
			}
		}
		if rows, configs, _ := a.Size(); rows > 30 || configs > 60 {
			t.Errorf("%s: %d rows, %d configurations", name, rows, configs)
		}
	}
}

// TestFull: tables end at their bound, and a fresh automaton goes on.
func TestFull(t *testing.T) {
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	s := b.Nonterminal("nest")
	b.Add(s, b.Literal("("), s, b.Literal(")"))
	b.Add(s, b.Literal("x"))
	g, err := b.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(g, Limits{Bytes: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	moves := 0
	c := a.Start()
	for range 10_000 {
		n, err := a.Next(c, '(')
		if err == ErrFull {
			fresh, err := a.Fresh()
			if err != nil {
				t.Fatal(err)
			}
			moves++
			if c, err = fresh.Import(a, c); err != nil {
				break // this configuration alone is beyond the bound
			}
			a = fresh
			continue
		}
		if err != nil || n == nil {
			t.Fatal(n, err)
		}
		c = n
	}
	if moves == 0 {
		t.Error("ten thousand rows fit into 100 kB")
	}
	if used := a.Bytes(); used > 110_000 {
		t.Errorf("%d bytes in use, the bound is 100,000", used)
	}
}
