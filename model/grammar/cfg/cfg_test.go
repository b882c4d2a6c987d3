package cfg

import (
	"errors"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

func builder() *Builder { return New(regex.NewSet(regex.Limits{}), Limits{}) }

func TestGrammarsWithoutTextAreRefused(t *testing.T) {
	b := builder()
	loop := b.Nonterminal("loop")
	b.Add(loop, b.Literal("a"), loop)
	_, err := b.Build(loop)
	var empty *EmptyError
	if !errors.As(err, &empty) {
		t.Errorf("a grammar that never ends: %v", err)
	}

	b = builder()
	x := b.Nonterminal("x")
	a, _ := b.Set.Parse("[a-c]+", regex.Options{})
	d, _ := b.Set.Parse("[d-f]+", regex.Options{})
	b.Add(x, b.Terminal(b.Set.And(a, d)))
	if _, err := b.Build(x); !errors.As(err, &empty) {
		t.Errorf("a terminal without text: %v", err)
	}
}

func TestUnproductiveAndUnreachablePartsAreLeftOut(t *testing.T) {
	b := builder()
	start, dead, unused := b.Nonterminal("start"), b.Nonterminal("dead"), b.Nonterminal("unused")
	b.Add(start, b.Literal("a"), dead)
	b.Add(start, b.Literal("b"))
	b.Add(start, start)
	b.Add(dead, b.Literal("c"), dead)
	b.Add(unused, b.Literal("d"))
	g, err := b.Build(start)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Rules) != 1 || len(g.Terminals) != 1 || len(g.Names) != 1 {
		t.Errorf("rules %v, terminals %v, names %v", g.Rules, g.Terminals, g.Names)
	}
}

func TestTerminalsWithTheEmptyStringBecomeOptional(t *testing.T) {
	b := builder()
	star, _ := b.Set.Parse("a*", regex.Options{})
	g, err := b.Build(b.Terminal(star))
	if err != nil {
		t.Fatal(err)
	}
	if !g.Nullable[g.Start] || len(g.Terminals) != 1 || g.Set.Nullable(g.Terminals[0].Term) {
		t.Errorf("nullable %v, terminals %v", g.Nullable, g.Terminals)
	}
}

func TestLimit(t *testing.T) {
	b := New(regex.NewSet(regex.Limits{}), Limits{Symbols: 1000})
	if _, err := b.Build(b.Repeat(b.Literal("a"), 0, 1_000_000_000)); !errors.Is(err, ErrLimit) {
		t.Errorf("a billion counters: %v", err)
	}
}
