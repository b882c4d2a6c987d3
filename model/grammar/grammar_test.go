package grammar_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"pgregory.net/rapid"
)

// smallVocabulary has all bytes, some words, two tokens of the same bytes, half
// characters, one special and one end token.
func smallVocabulary(t testing.TB) *vocab.Vocabulary {
	var list [][]byte
	for b := range 256 {
		list = append(list, []byte{byte(b)})
	}
	for _, w := range []string{"ab", "abc", "ab", "aab", `":`, `{"`, "é", "é\"", "\xc3", "\xa9b", "12", "true", " true", `",`, `\n`,
		"aaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "日本", "\xe6\x97", "\xa5\xe6\x9c\xac"} {
		list = append(list, []byte(w))
	}
	call := int32(len(list))
	list = append(list, []byte("<|call|>"), []byte("<|end|>"), nil)
	v, err := vocab.New(vocab.Tokens{Bytes: list, Special: map[int32]string{call: "<|call|>", call + 1: "<|end|>"}, End: []int32{call + 1}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compile(t testing.TB, v *vocab.Vocabulary, kind grammar.Kind, text string) *grammar.Grammar {
	g, err := grammar.Compile(grammar.Source{Kind: kind, Text: text}, v, grammar.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return g
}

var sources = []grammar.Source{
	{Kind: grammar.Regex, Text: `[a-c]{2,30}\d*`},
	{Kind: grammar.Regex, Text: `"(?:[^"\\\x00-\x1f]|\\["\\n])*"`},
	{Kind: grammar.Regex, Text: `.*`},
	{Kind: grammar.Regex, Text: `[^a]{0,25}`},
	{Kind: grammar.Choice, Text: `["ab", "abc", "é", "日本"]`},
	{Kind: grammar.JSONSchema, Text: `{"type":"object","properties":{"ab":{"maxLength":40},"é":{},"abc":{"type":"object"}},"required":["abc"],"minProperties":2}`},
	{Kind: grammar.JSONSchema, Text: `{"type":"object","patternProperties":{"^a+$":{"enum":["日本",12]}},"additionalProperties":{"pattern":"^.{0,12}$"},"maxProperties":2}`},
	{Kind: grammar.EBNF, Text: `root ::= "a" root "b" | <|call|> "12" | "é" | ` + "\"\""},
	{Kind: grammar.GBNF, Text: `root ::= obj
		obj ::= "{" (str ":" val ("," str ":" val)*)? "}"
		val ::= str | obj | [0-9]+ | "true"
		str ::= "\"" [^"\\]* "\""`},
}

// TestMasksAgainstTrials compares each mask of random walks with what happens
// when every token is tried.
func TestMasksAgainstTrials(t *testing.T) {
	v := smallVocabulary(t)
	var grammars []*grammar.Grammar
	for _, s := range sources {
		grammars = append(grammars, compile(t, v, s.Kind, s.Text))
	}
	mask := make([]uint32, v.Words())
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(grammars).Draw(t, "grammar")
		m := g.Matcher()
		for range rapid.IntRange(0, 12).Draw(t, "tokens") {
			if err := m.Mask(mask); err != nil {
				t.Fatal(err)
			}
			var allowed []int32
			for id := range int32(v.Size()) {
				err := m.Clone().Accept(id)
				if (err == nil) != vocab.Allowed(mask, id) {
					t.Fatalf("token %d %q: mask %v, tried %v", id, v.Bytes(id), vocab.Allowed(mask, id), err)
				}
				if err == nil {
					allowed = append(allowed, id)
				}
			}
			if len(allowed) == 0 {
				t.Fatal("a mask without tokens")
			}
			if err := m.Accept(rapid.SampledFrom(allowed).Draw(t, "token")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSmallTablesChangeNothing: a grammar whose tables are thrown away all the
// time gives the same masks.
func TestSmallTablesChangeNothing(t *testing.T) {
	v := smallVocabulary(t)
	source := grammar.Source{Kind: grammar.GBNF, Text: `root ::= "{" root* "}" | [a-z]{1,40} ","`}
	large, err := grammar.Compile(source, v, grammar.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	small, err := grammar.Compile(source, v, grammar.Limits{Tables: 120_000, Masks: 5_000})
	if err != nil {
		t.Fatal(err)
	}
	a, b := large.Matcher(), small.Matcher()
	wa, wb := make([]uint32, v.Words()), make([]uint32, v.Words())
	seed := uint32(1)
	for i := range 3000 {
		if err := a.Mask(wa); err != nil {
			t.Fatal(err)
		}
		if err := b.Mask(wb); err != nil {
			t.Fatalf("after %d tokens: %v", i, err)
		}
		if !slices.Equal(wa, wb) {
			t.Fatalf("after %d tokens the masks differ", i)
		}
		var allowed []int32
		for id := range int32(v.Size()) {
			if vocab.Allowed(wa, id) && !v.IsEnd(id) {
				allowed = append(allowed, id)
			}
		}
		if len(allowed) == 0 {
			a, b = large.Matcher(), small.Matcher()
			continue
		}
		seed = seed*1664525 + 1013904223
		id := allowed[int(seed>>8)%len(allowed)]
		if a.Accept(id) != nil || b.Accept(id) != nil {
			t.Fatal("an allowed token was not accepted")
		}
	}
	if used := small.Bytes(); used > 200_000 {
		t.Errorf("%d bytes are in use, of 125,000", used)
	}
}

// A matcher that computes nothing goes where one has been before, with the same masks, and
// nowhere else.
func TestKnown(t *testing.T) {
	v := smallVocabulary(t)
	source := sources[len(sources)-1]
	g := compile(t, v, source.Kind, source.Text)
	text := []byte(`{"ab":{"é":12},"abc":true,"x":"日本"}`)
	slow, quick := g.Matcher(), g.Matcher()
	quick.Known = true
	pauses := 0
	slow.Pause = func() { pauses++ }
	want, got := make([]uint32, v.Words()), make([]uint32, v.Words())
	if err := quick.Mask(got); err != grammar.ErrUnknown {
		t.Fatal("a mask that nobody has made is known")
	}
	for i, b := range text {
		token := []int32{int32(b)}
		if err := slow.Mask(want); err != nil {
			t.Fatal(err)
		}
		if i > 0 && quick.Replay([]int32{int32(text[i-1])}) != nil || quick.Mask(got) != nil || !slices.Equal(got, want) {
			t.Fatalf("before byte %d the mask is not that which was made", i)
		}
		if err := slow.Accept(token[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := quick.Replay(v.End()[:1]); err != grammar.ErrUnknown {
		t.Error("an end token is known")
	}
	if pauses == 0 {
		t.Error("masks of a fresh grammar were made without a pause")
	}
}

// TestSharedGrammar: many matchers of one grammar with small tables, at the
// same time, see the same masks as one alone. The race detector watches.
func TestSharedGrammar(t *testing.T) {
	v := smallVocabulary(t)
	source := sources[len(sources)-1]
	alone := compile(t, v, source.Kind, source.Text)
	shared, err := grammar.Compile(source, v, grammar.Limits{Tables: 300_000, Masks: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"ab":{"é":12},"abc":true,"x":"日本"}`)
	var want [][]uint32
	m := alone.Matcher()
	for _, b := range text {
		mask := make([]uint32, v.Words())
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		want = append(want, mask)
		if err := m.Accept(int32(b)); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			mask := make([]uint32, v.Words())
			for range 20 {
				m := shared.Matcher()
				for i, b := range text {
					if err := m.Mask(mask); err != nil {
						t.Error(err)
						return
					}
					if !slices.Equal(mask, want[i]) {
						t.Errorf("the mask before byte %d differs", i)
						return
					}
					if err := m.Accept(int32(b)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func TestEnds(t *testing.T) {
	v := smallVocabulary(t)
	end := v.End()[0]
	m := compile(t, v, grammar.Regex, "ab?").Matcher()
	var e *grammar.Error
	if err := m.Accept(end); !errors.As(err, &e) || e.Kind != grammar.Rejected || m.Ended() {
		t.Errorf("the end of nothing: %v", err)
	}
	if err := m.AcceptBytes([]byte("a")); err != nil || !m.CanEnd() || m.MustEnd() {
		t.Errorf("a: %v, can end %v, must end %v", err, m.CanEnd(), m.MustEnd())
	}
	before := m.Clone()
	if err := m.AcceptBytes([]byte("bb")); err == nil {
		t.Error("bb was accepted")
	}
	if err := m.Replay([]int32{'b', end}); err != nil || !m.Ended() {
		t.Errorf("replay: %v", err)
	}
	if err := m.Accept('b'); err == nil {
		t.Error("text behind the end was accepted")
	}
	mask := make([]uint32, v.Words())
	if err := m.Mask(mask); err != nil || !vocab.Allowed(mask, end) || vocab.Allowed(mask, 'b') {
		t.Errorf("the mask behind the end: %v", err)
	}
	if before.Ended() || before.Accept('b') != nil {
		t.Error("the clone moved along")
	}
}

func TestForced(t *testing.T) {
	v := smallVocabulary(t)
	m := compile(t, v, grammar.Choice, `["order by id", "order by name"]`).Matcher()
	if got, err := m.Forced(100); string(got) != "order by " || err != nil {
		t.Errorf("forced %q, %v", got, err)
	}
	if err := m.AcceptBytes([]byte("order by i")); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Forced(100); string(got) != "d" || err != nil {
		t.Errorf("forced %q, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	v := smallVocabulary(t)
	for _, c := range []struct {
		kind grammar.Kind
		text string
		want grammar.ErrorKind
	}{
		{grammar.Regex, "(a{1,1000}){1,1000}", grammar.Invalid},
		{grammar.Regex, "[a", grammar.Invalid},
		{grammar.Regex, "(?=b)a", grammar.Unsatisfiable},
		{grammar.GBNF, "root ::= root \"a\"", grammar.Unsatisfiable},
		{grammar.GBNF, "root ::= (\"a\" root \"b\" | \"\"){100000}{2}", grammar.Invalid},
		{grammar.GBNF, "root ::= ((\"a\" root \"b\" | \"\"){1,90000} \"x\"){1,90000}", grammar.TooLarge},
		{grammar.EBNF, "root ::= <|nothing|>", grammar.Invalid},
		{grammar.EBNF, "root ::= <[97]>", grammar.Invalid}, // text
		{grammar.EBNF, "root ::= <[999999]>", grammar.Invalid},
		{grammar.Choice, "[]", grammar.Invalid},
		{grammar.Choice, `{"a": 1}`, grammar.Invalid},
		{grammar.Choice, `["a", null]`, grammar.Invalid},
		{grammar.Choice, `["a"] "b"`, grammar.Invalid},
		{"xml", "", grammar.Unsupported},
	} {
		_, err := grammar.Compile(grammar.Source{Kind: c.kind, Text: c.text}, v, grammar.Limits{Symbols: 100_000})
		var e *grammar.Error
		if !errors.As(err, &e) || e.Kind != c.want {
			t.Errorf("%s %q: %v, want kind %d", c.kind, c.text, err, c.want)
		}
	}
}

func ExampleMatcher() {
	v, _ := vocab.New(vocab.Tokens{Bytes: [][]byte{[]byte("yes"), []byte("no"), []byte("n"), []byte("o"), nil}, Special: map[int32]string{4: "</s>"}, End: []int32{4}})
	g, _ := grammar.Compile(grammar.Source{Kind: grammar.Choice, Text: `["yes", "no"]`}, v, grammar.Limits{})
	m := g.Matcher()
	mask := make([]uint32, v.Words())
	for _, token := range []int32{2, 3} {
		m.Mask(mask)
		fmt.Printf("%05b\n", mask[0])
		m.Accept(token)
	}
	m.Mask(mask)
	fmt.Printf("%05b\n", mask[0])
	// Output:
	// 00111
	// 01000
	// 10000
}

// A compact schema allows no white space between the tokens of JSON.
func TestCompactSchema(t *testing.T) {
	g := compile(t, smallVocabulary(t), grammar.CompactSchema, `{"properties":{"a":{"items":{"type":"integer"}}},"additionalProperties":{}}`)
	for text, want := range map[string]bool{`{"a":[1,2],"b":{"c":null}}`: true, `{"b":" , : "}`: true, `{"a": [1,2]}`: false, `{"a":[1, 2]}`: false, `{"b":{ }}`: false, `{"b":{"c":[1,
2]}}`: false} {
		m := g.Matcher()
		err := m.AcceptBytes([]byte(text))
		if got := err == nil && m.CanEnd(); got != want {
			t.Errorf("%s is allowed: %t, want %t", text, got, want)
		}
	}
}
