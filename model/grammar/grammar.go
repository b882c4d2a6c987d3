package grammar

import (
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// Limits bound one grammar. They are hard; zero is the default.
type Limits struct {
	// Source is the maximum length of a source, in bytes. Zero: 4 MiB.
	Source int
	// Symbols is the maximum size of the rules, see [cfg.Limits]. Zero: 1,000,000.
	Symbols int
	// Tables is the maximum of rows, configurations and derivatives, in bytes.
	// Zero: 64 MiB. Old tables live on beside it until no matcher needs them.
	Tables int
	// Masks is the maximum of kept masks and certain tokens, in bytes. Zero: 32 MiB.
	Masks int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&l.Source, 4<<20)
	set(&l.Symbols, 1_000_000)
	set(&l.Tables, 64<<20)
	set(&l.Masks, 32<<20)
	return l
}

// Grammar is a compiled source for one vocabulary. It may be shared.
type Grammar struct {
	vocab   *vocab.Vocabulary
	limits  Limits
	omitted []Omission
	current atomic.Pointer[generation]
	mu      sync.Mutex // held while a generation is replaced
}

// generation is one set of tables.
type generation struct {
	auto  *earley.Automaton
	mu    sync.Mutex
	kept  []*earley.Config // those with a place
	bytes int              // of the places
	held  atomic.Int64     // the same, to read without the lock
}

// newGrammar finishes what a front end has built.
func newGrammar(b *cfg.Builder, start cfg.Symbol, v *vocab.Vocabulary, limits Limits) (*Grammar, error) {
	rules, err := b.Build(start)
	if err != nil {
		return nil, asError(err)
	}
	auto, err := earley.New(rules, earley.Limits{Bytes: limits.Tables})
	if err != nil {
		return nil, asError(err)
	}
	g := &Grammar{vocab: v, limits: limits}
	g.current.Store(&generation{auto: auto})
	return g, nil
}

// builder returns an empty builder within limits.
func builder(limits Limits) *cfg.Builder {
	set := regex.NewSet(regex.Limits{Bytes: limits.Tables / 2})
	return cfg.New(set, cfg.Limits{Symbols: limits.Symbols})
}

// Vocabulary returns what the grammar was compiled for.
func (g *Grammar) Vocabulary() *vocab.Vocabulary { return g.vocab }

// Omission is a keyword of a schema that the grammar does not keep, and the place of that schema in
// the source, such as /tools/0/parameters/properties/x.
type Omission = outputs.Omission

// Omitted returns what the source allows to leave out and the grammar leaves out: keywords in the
// schemas of tools that are not strict. Frozen.
func (g *Grammar) Omitted() []Omission { return g.omitted }

// Bytes returns roughly how much memory the grammar holds at present. It waits for nothing.
func (g *Grammar) Bytes() int {
	gen := g.current.Load()
	return int(gen.held.Load()) + gen.auto.Bytes()
}

// replace returns a generation after old: the current one, or a new one.
func (g *Grammar) replace(old *generation) (*generation, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.current.Load(); now != old {
		return now, nil
	}
	auto, err := old.auto.Fresh()
	if err != nil {
		return nil, err
	}
	gen := &generation{auto: auto}
	g.current.Store(gen)
	return gen, nil
}
