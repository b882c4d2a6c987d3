package jsonschema_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// vocabulary has all bytes, a few words of JSON and an end token.
func vocabulary(t *testing.T) *vocab.Vocabulary {
	t.Helper()
	var list [][]byte
	for b := range 256 {
		list = append(list, []byte{byte(b)})
	}
	for _, w := range []string{`{"`, `":`, `":"`, `","`, `"}`, `true`, ` "`, "null", "00"} {
		list = append(list, []byte(w))
	}
	end := int32(len(list))
	v, err := vocab.New(vocab.Tokens{Bytes: append(list, nil), Special: map[int32]string{end: "<|end|>"}, End: []int32{end}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// otherIntegers are schemas of draft 4 whose samples may have an integer like 1.0. To the
// oracle it is one, in that draft it is not.
var otherIntegers = map[string]bool{"Github_trivial---o41599.json": true}

// TestConformanceGrammarSamples draws samples of the schemas of MaskBench. All of them end,
// are texts of their grammar, and are valid for the oracle.
func TestConformanceGrammarSamples(t *testing.T) {
	cases := conformance.Schemas(t)
	v := vocabulary(t)
	random := rand.New(rand.NewPCG(1, 2))
	drawn, schemas := 0, 0
	for i, c := range cases {
		if testing.Short() && i%50 != 0 {
			continue
		}
		g, err := grammar.Compile(grammar.Source{Kind: grammar.JSONSchema, Text: string(c.Schema)}, v, grammar.Limits{})
		if err != nil {
			continue
		}
		schemas++
		s := judge(c.Schema)
		for range 4 {
			text, err := g.Sample(random)
			if err != nil {
				t.Errorf("%s: %v, after %.300q", c.Name, err, text)
				break
			}
			drawn++
			m := g.Matcher()
			if err := m.AcceptBytes([]byte(text)); err != nil || !m.CanEnd() {
				t.Errorf("%s: the sample %.300q is no text of the grammar: %v", c.Name, text, err)
			}
			if !jsontext.Value(text).IsValid() {
				// See checkSamples.
				if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
					t.Errorf("%s: the sample %.600q is not JSON", c.Name, text)
				}
				continue
			}
			if s == nil || otherIntegers[c.Name] {
				continue
			}
			value, err := oracle.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = s.Validate(value)
			}
			if err != nil {
				t.Errorf("%s: the sample %.600q is refused: %v", c.Name, text, err)
			}
		}
	}
	t.Logf("%d samples of %d schemas", drawn, schemas)
	if drawn == 0 {
		t.Error("no sample was drawn")
	}
}
