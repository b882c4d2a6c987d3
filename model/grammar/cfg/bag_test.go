package cfg

import (
	"errors"
	"testing"
)

func TestBagsWithoutTextAreRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		bag      func(x, dead Symbol) Bag
		possible bool
	}{
		{"nothing", func(x, dead Symbol) Bag { return Bag{Max: -1} }, true},
		{"an entry that has no text", func(x, dead Symbol) Bag { return Bag{Entries: []Entry{{Symbols: []Symbol{dead}}}, Max: -1} }, true},
		{"a required one", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{dead}, Required: true}}, Max: -1}
		}, false},
		{"fewer than required", func(x, dead Symbol) Bag { return Bag{Entries: []Entry{{Symbols: []Symbol{x}, Required: true}}} }, false},
		{"not enough entries", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{x}}, {Symbols: []Symbol{dead}}}, Min: 2, Max: -1}
		}, false},
		{"one that comes again", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{x}, Repeats: true}}, Min: 2, Max: 2}
		}, true},
		{"two demands and room for one entry", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{x}, Repeats: true, Meets: 1}, {Symbols: []Symbol{x}, Repeats: true, Meets: 2}}, Demands: 2, Max: 1}
		}, false},
		{"two demands that one entry meets", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{x}, Repeats: true, Meets: 3}}, Demands: 2, Max: 1}
		}, true},
		{"a demand that nothing meets", func(x, dead Symbol) Bag {
			return Bag{Entries: []Entry{{Symbols: []Symbol{dead}, Repeats: true, Meets: 1}, {Symbols: []Symbol{x}, Repeats: true}}, Demands: 1, Max: -1}
		}, false},
	} {
		b := builder()
		dead := b.Nonterminal("dead")
		bag := c.bag(b.Literal("x"), dead)
		bag.Separator = b.Literal(",")
		g, err := b.Build(b.Bag("bag", bag))
		var empty *EmptyError
		if c.possible && err != nil || !c.possible && !errors.As(err, &empty) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		for _, e := range g.Bags[g.Start].Entries {
			for _, s := range e.Symbols {
				if !s.IsTerminal() {
					t.Errorf("%s: an entry without text is left", c.name)
				}
			}
		}
	}
}

// TestBagsOfBags: a bag may hold itself, if it need not.
func TestBagsOfBags(t *testing.T) {
	for _, required := range []bool{false, true} {
		b := builder()
		value := b.Nonterminal("value")
		b.Add(value, b.Literal("("), b.Bag("bag", Bag{Separator: b.Literal(","), Entries: []Entry{{Symbols: []Symbol{b.Literal("a"), value}, Required: required}}, Max: -1}), b.Literal(")"))
		if _, err := b.Build(value); (err != nil) != required {
			t.Errorf("required %v: %v", required, err)
		}
	}
}
