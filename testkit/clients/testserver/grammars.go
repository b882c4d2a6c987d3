package testserver

import (
	"context"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
	"github.com/troupe-engine/troupe/model/grammar/thoughts"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// grammarsOf compiles grammars for the fake model.
func grammarsOf(t testing.TB, tok *tokenizer.Tokenizer, eos int32) *store.Store {
	t.Helper()
	v, err := model.Vocabulary(tok, []int32{eos}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return store.New(v, store.Options{})
}

// allowed follows an output from its start, as slowly as it is simple.
func allowed(t testing.TB, grammars *store.Store, g *messages.Grammar, output []int32) func(int32) bool {
	compiled, err := grammars.Get(context.Background(), grammar.Source{Kind: grammar.Kind(g.Kind), Text: g.Text})
	if err != nil {
		t.Errorf("a grammar that cannot be compiled reached the device: %v", err)
		return func(int32) bool { return false }
	}
	m, bits := compiled.Matcher(), make([]uint32, grammars.Vocabulary().Words())
	if err := m.Replay(output); err != nil {
		t.Errorf("an output that its grammar does not allow: %v", err)
	}
	if err := m.Mask(bits); err != nil {
		t.Errorf("no mask: %v", err)
	}
	forced, ok := ended(g.Thoughts, output, grammars.Vocabulary())
	ok = ok && vocab.Allowed(bits, forced)
	return func(id int32) bool { return vocab.Allowed(bits, id) && (!ok || id == forced) }
}

// ended is the token that must come where thoughts have had their tokens.
func ended(l *messages.Thoughts, output []int32, v *vocab.Vocabulary) (token int32, ok bool) {
	if l == nil {
		return 0, false
	}
	f := thoughts.New(thoughts.Limit(*l), v)
	for _, id := range output {
		f.Accept(id)
	}
	return f.Forced()
}
