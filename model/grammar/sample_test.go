package grammar_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// acceptsNamed reports whether text is a text of g, with <|call|> for the special token.
func acceptsNamed(t *testing.T, g *grammar.Grammar, text string) bool {
	t.Helper()
	m := g.Matcher()
	call, _ := g.Vocabulary().Special("<|call|>")
	for i, part := range strings.Split(text, "<|call|>") {
		if i > 0 && m.Accept(call) != nil || m.AcceptBytes([]byte(part)) != nil {
			return false
		}
	}
	return m.CanEnd()
}

var sampled = append([]grammar.Source{
	{Kind: grammar.JSON},
	{Kind: grammar.JSONSchema, Text: `{"type":"object","properties":{"name":{"type":"string","minLength":300},"n":{"type":"integer","minimum":10},
		"list":{"type":"array","items":{"$ref":"#"},"minItems":1}},"required":["name","n"]}`},
	{Kind: grammar.JSONSchema, Text: `{"type":"object","properties":{"name":{"minLength":9},"n":{"type":"integer"},"self":{"$ref":"#"},"list":{"items":{"$ref":"#"}}},
		"patternProperties":{"^a+$":{"const":1}},"required":["n","list"],"minProperties":6,"additionalProperties":{"type":"boolean"}}`},
	{Kind: grammar.Regex, Text: `(a|b{3}){800}é`},
	{Kind: grammar.Lark, Text: "start: expr\nexpr: \"(\" expr \")\" expr \"x\" | NUMBER | <|call|> \"y\"\nNUMBER: /[0-9]+/"},
	{Kind: grammar.Tags, Text: `{"format":{"type":"triggered_tags","triggers":["<f="],"tags":[{"begin":"<f=a>","content":{"type":"json_schema","json_schema":{}},"end":"</f>"}],"at_least_one":true}}`},
	{Kind: grammar.GBNF, Text: `root ::= "(" root root ")" | [^()]{2,}`},
	{Kind: grammar.EBNF, Text: `root ::= "" | "a" root "b" root`},
}, sources...)

func TestSamplesAreTextsOfTheirGrammar(t *testing.T) {
	v := smallVocabulary(t)
	const samples = 20
	for _, s := range sampled {
		random, again := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
		g, other := compile(t, v, s.Kind, s.Text), compile(t, v, s.Kind, s.Text)
		other.Matcher().AcceptBytes([]byte("{ab")) // what others have asked changes nothing
		different := map[string]bool{}
		for range samples {
			text, err := g.Sample(random)
			if err != nil {
				t.Fatalf("%s %.60s: %v, after %.300q", s.Kind, s.Text, err, text)
			}
			if !acceptsNamed(t, g, text) {
				t.Errorf("%s %.60s: the sample %.300q is no text of it", s.Kind, s.Text, text)
			}
			if same, _ := other.Sample(again); same != text {
				t.Fatalf("%s %.60s: the same random numbers give %.300q and %.300q", s.Kind, s.Text, text, same)
			}
			different[text] = true
		}
		if len(different) < samples/4 && s.Kind != grammar.Choice {
			t.Errorf("%s %.60s: only %d different samples of %d", s.Kind, s.Text, len(different), samples)
		}
	}
}

func TestSampleThatCannotEnd(t *testing.T) {
	list := [][]byte{[]byte("a"), []byte("b"), nil}
	v, err := vocab.New(vocab.Tokens{Bytes: list, Special: map[int32]string{2: "</s>"}, End: []int32{2}})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]grammar.ErrorKind{
		`[ab]*c`:                  grammar.TooLarge, // the vocabulary never gets to an end
		`abc`:                     grammar.NoToken,
		`(aaaaaaaaaaaaaaa){2000}`: grammar.TooLarge,
	} {
		_, err := compile(t, v, grammar.Regex, source).Sample(rand.New(rand.NewPCG(1, 2)))
		var e *grammar.Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%s: %v, want kind %d", source, err, want)
		}
	}
}
