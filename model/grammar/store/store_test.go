package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// bytewise has a token for every byte and one that ends a text.
func bytewise(t testing.TB) *vocab.Vocabulary {
	t.Helper()
	tokens := vocab.Tokens{End: []int32{256}}
	for b := range 256 {
		tokens.Bytes = append(tokens.Bytes, []byte{byte(b)})
	}
	tokens.Bytes = append(tokens.Bytes, nil)
	v, err := vocab.New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func regex(text string) grammar.Source { return grammar.Source{Kind: grammar.Regex, Text: text} }

func get(t *testing.T, s *store.Store, src grammar.Source) *grammar.Grammar {
	t.Helper()
	g, err := s.Get(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func kept(s *store.Store, src grammar.Source) bool {
	_, _, is := s.Kept(src)
	return is
}

// collected lets the collector take what is not kept. To look at a grammar would keep it.
func collected() {
	for range 3 {
		runtime.GC()
	}
}

// A grammar that is not kept any more, but in use, is not compiled again.
func TestAGrammarInUseIsFoundAgain(t *testing.T) {
	s := store.New(bytewise(t), store.Options{Entries: 1})
	first := get(t, s, regex("a"))
	get(t, s, regex("b"))
	runtime.GC()
	if get(t, s, regex("a")) != first {
		t.Error("a grammar in use was compiled twice")
	}
}

// Callers of one grammar share it, whoever comes first; the kind belongs to it.
func TestEqualSourcesShareAGrammar(t *testing.T) {
	s := store.New(bytewise(t), store.Options{})
	var wg sync.WaitGroup
	grammars := make([]*grammar.Grammar, 20)
	for i := range grammars {
		wg.Go(func() { grammars[i] = get(t, s, regex("a|b")) })
	}
	wg.Wait()
	for _, g := range grammars {
		if g != grammars[0] {
			t.Fatal("equal sources were compiled twice")
		}
	}
	if get(t, s, regex("a|c")) == grammars[0] || get(t, s, grammar.Source{Kind: grammar.EBNF, Text: `root ::= "a"`}) == grammars[0] {
		t.Error("other sources got the same grammar")
	}
}

// The entry that was not used for the longest time goes first.
func TestOldEntriesGo(t *testing.T) {
	s := store.New(bytewise(t), store.Options{Entries: 3})
	used := get(t, s, regex("0"))
	for i := 1; i <= 10; i++ {
		get(t, s, regex(fmt.Sprint(i)))
		if get(t, s, regex("0")) != used {
			t.Fatalf("after %d others, the grammar that is used all the time was compiled again", i)
		}
	}
	for i := 11; i <= 13; i++ {
		get(t, s, regex(fmt.Sprint(i)))
	}
	if collected(); kept(s, regex("10")) || !kept(s, regex("13")) {
		t.Error("not the last 3 entries are kept")
	}
}

// What is kept is within the bound of bytes, or empty.
func TestBytesAreBounded(t *testing.T) {
	one := get(t, store.New(bytewise(t), store.Options{}), regex("[ab]{9}")).Bytes()
	s := store.New(bytewise(t), store.Options{Bytes: 3*one + one/2})
	get(t, s, regex("[ab]{9}"))
	if runtime.GC(); !kept(s, regex("[ab]{9}")) {
		t.Fatal("a grammar within the bound is not kept")
	}
	for i := range 3 {
		get(t, s, regex(fmt.Sprintf("[ab]{9}%d", i)))
	}
	if collected(); kept(s, regex("[ab]{9}")) {
		t.Error("4 grammars are kept within the bytes of 3.5")
	}
	tiny := store.New(bytewise(t), store.Options{Bytes: 1})
	get(t, tiny, regex("a"))
	if collected(); kept(tiny, regex("a")) {
		t.Error("a grammar beyond the bound is kept")
	}
}

// Grammars in use count although they are not kept. While they hold too much, new ones are
// refused, and kept ones are not.
func TestGrammarsInUseAreBounded(t *testing.T) {
	one := get(t, store.New(bytewise(t), store.Options{}), regex("[ab]{9}")).Bytes()
	s := store.New(bytewise(t), store.Options{Entries: 1, Used: 2 * one})
	var inUse []*grammar.Grammar
	for i := range 10 {
		g, err := s.Get(t.Context(), regex(fmt.Sprintf("[ab]{9}%d", i)))
		if errors.Is(err, store.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		inUse = append(inUse, g)
	}
	if n := len(inUse); n < 2 || n > 3 {
		t.Fatalf("%d grammars are in use within the bytes of 2", n)
	}
	if get(t, s, regex(fmt.Sprintf("[ab]{9}%d", len(inUse)-1))) != inUse[len(inUse)-1] {
		t.Error("a kept grammar was compiled again")
	}
	runtime.KeepAlive(inUse)
	inUse = nil
	runtime.GC()
	get(t, s, regex("[ab]{9}x"))
}

// A grammar that cannot be compiled is refused each time, and takes nothing from others.
func TestFaultyGrammars(t *testing.T) {
	s := store.New(bytewise(t), store.Options{})
	for range 2 {
		_, err := s.Get(t.Context(), regex("(a"))
		if e, is := errors.AsType[*grammar.Error](err); !is || e.Kind != grammar.Invalid {
			t.Fatalf("got %v", err)
		}
	}
	_, err := s.Get(t.Context(), grammar.Source{Kind: "none"})
	if e, is := errors.AsType[*grammar.Error](err); !is || e.Kind != grammar.Unsupported {
		t.Errorf("an unknown kind: %v", err)
	}
	get(t, s, regex("a"))
}

// Who gives up gets its own error; the compilation goes on for others.
func TestGivingUp(t *testing.T) {
	s := store.New(bytewise(t), store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src := regex(strings.Repeat("[a-z]{1,50}", 20))
	if _, err := s.Get(ctx, src); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up got %v", err)
	}
	get(t, s, src)
}
