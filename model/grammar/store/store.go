// Package store keeps compiled grammars, so that a grammar which many requests have is
// compiled once.
//
// # Concurrency properties
//
//   - Get may be called from any goroutine. Callers of one grammar wait for one compilation.
//   - At most [Options.Compilers] grammars are compiled at a time; others wait for their turn.
//     Who stops waiting does not stop the compilation, which others may need.
//   - A compilation that panics is an error of its callers, and of nothing else.
package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"sync"
	"weak"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// Options bound a store. Zero is the default.
type Options struct {
	// Bytes is the maximum of what kept grammars hold, see [grammar.Grammar.Bytes]. One that
	// is larger is compiled for its callers and not kept. Zero: 256 MiB. Soft: the tables
	// of kept grammars grow while requests use them, which counts at the next Get.
	Bytes int
	// Used is the maximum of what all grammars hold that are kept or in use. Beyond it a new
	// one is refused with [ErrFull]. Zero: 1 GiB. Soft: as above.
	Used int
	// Entries is the maximum of grammars, with those that cannot be compiled. Zero: 1,024.
	Entries int
	// Compilers is how many grammars are compiled at a time. Zero: 1.
	Compilers int
	// Limits are those of each grammar.
	Limits grammar.Limits
}

// ErrFull: the grammars in use hold as much memory as they may together. It passes some time
// after requests have ended, when the garbage collector has found out.
var ErrFull = errors.New("the grammars of the requests under way hold too much memory")

// Store keeps grammars for one vocabulary. Construct it with New.
type Store struct {
	vocab   *vocab.Vocabulary
	opt     Options
	turns   chan struct{} // one per compiler
	mu      sync.Mutex
	entries map[key]*entry
	removed map[key]weak.Pointer[grammar.Grammar] // from entries; in use as long as they live
	clock   uint64                                // counts calls of Get
}

// key is a hash, so that a source is not kept beside its grammar.
type key [sha256.Size]byte

// entry is a grammar, or its compilation.
type entry struct {
	done    chan struct{} // closed when grammar and err are there
	grammar *grammar.Grammar
	err     error
	used    uint64
}

// New makes an empty store.
func New(v *vocab.Vocabulary, opt Options) *Store {
	opt.Bytes, opt.Used, opt.Entries, opt.Compilers = cmp.Or(opt.Bytes, 256<<20), cmp.Or(opt.Used, 1<<30), cmp.Or(opt.Entries, 1024), cmp.Or(opt.Compilers, 1)
	return &Store{vocab: v, opt: opt, turns: make(chan struct{}, opt.Compilers), entries: map[key]*entry{}, removed: map[key]weak.Pointer[grammar.Grammar]{}}
}

// Vocabulary returns what the grammars are compiled for.
func (s *Store) Vocabulary() *vocab.Vocabulary { return s.vocab }

// Get returns a compiled grammar. The error is a [*grammar.Error], [ErrFull], or that of ctx.
func (s *Store) Get(ctx context.Context, src grammar.Source) (*grammar.Grammar, error) {
	return s.get(ctx, src, s.opt.Used)
}

// Resume is Get for a request that was accepted: it is never refused with ErrFull.
func (s *Store) Resume(ctx context.Context, src grammar.Source) (*grammar.Grammar, error) {
	return s.get(ctx, src, math.MaxInt)
}

func (s *Store) get(ctx context.Context, src grammar.Source, most int) (*grammar.Grammar, error) {
	e, fresh := s.entry(keyOf(src), most)
	switch {
	case e == nil:
		return nil, ErrFull
	case fresh:
		go s.fill(e, src)
	}
	select {
	case <-e.done:
		return e.grammar, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Kept returns a grammar without waiting, if it is kept or in use, or why it was refused.
func (s *Store) Kept(src grammar.Source) (g *grammar.Grammar, err error, kept bool) {
	k := keyOf(src)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(k)
	if e == nil || !e.compiled() {
		return nil, nil, false
	}
	return e.grammar, e.err, true
}

func keyOf(src grammar.Source) key {
	h := sha256.New()
	io.WriteString(h, string(src.Kind)+"\x00") // a hash never fails
	io.WriteString(h, src.Text)
	return key(h.Sum(nil))
}

// find finds an entry; nil if there is none. A removed grammar that is in use is an entry again.
func (s *Store) find(k key) *entry {
	s.clock++
	e := s.entries[k]
	if g := s.removed[k].Value(); e == nil && g != nil {
		e = &entry{done: make(chan struct{}), grammar: g}
		close(e.done)
		s.entries[k] = e
		delete(s.removed, k)
		e.used = s.clock
		s.evict()
	}
	if e != nil {
		e.used = s.clock
	}
	return e
}

// entry finds an entry, or adds one; nil if there is too much already.
func (s *Store) entry(k key, most int) (e *entry, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.find(k); e != nil {
		return e, false
	}
	if s.used() > most {
		return nil, false
	}
	e = &entry{done: make(chan struct{}), used: s.clock}
	s.entries[k] = e
	return e, true
}

// fill compiles a grammar.
func (s *Store) fill(e *entry, src grammar.Source) {
	s.turns <- struct{}{}
	defer func() {
		if r := recover(); r != nil {
			e.grammar, e.err = nil, &grammar.Error{Kind: grammar.Unsupported, Reason: fmt.Sprintf("bug in the server: compiling the grammar panicked (%v); please report it with the grammar", r)}
			debug.PrintStack()
		}
		<-s.turns
		s.mu.Lock()
		defer s.mu.Unlock()
		close(e.done)
		s.evict()
	}()
	e.grammar, e.err = grammar.Compile(src, s.vocab, s.opt.Limits)
	if e.err == nil { // what every request with it needs first
		e.err = e.grammar.Matcher().Mask(make([]uint32, s.vocab.Words()))
	}
}

// used is what all grammars hold that are kept or in use.
func (s *Store) used() int {
	bytes := 0
	for _, e := range s.entries {
		bytes += e.bytes()
	}
	for k, w := range s.removed {
		if g := w.Value(); g != nil {
			bytes += g.Bytes()
		} else {
			delete(s.removed, k)
		}
	}
	return bytes
}

// evict removes the entries that were not used for the longest time until the rest is within
// the bounds. Rows that use them keep them.
func (s *Store) evict() {
	bytes := 0
	for _, e := range s.entries {
		bytes += e.bytes()
	}
	for bytes > s.opt.Bytes || len(s.entries) > s.opt.Entries {
		oldest, found := key{}, false
		for k, e := range s.entries {
			if e.compiled() && (!found || e.used < s.entries[oldest].used) {
				oldest, found = k, true
			}
		}
		if !found {
			return // all are being compiled
		}
		bytes -= s.entries[oldest].bytes()
		if g := s.entries[oldest].grammar; g != nil {
			s.removed[oldest] = weak.Make(g)
		}
		delete(s.entries, oldest)
	}
}

func (e *entry) compiled() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// bytes is what a compiled entry holds.
func (e *entry) bytes() int {
	if !e.compiled() || e.grammar == nil {
		return 0
	}
	return e.grammar.Bytes()
}
