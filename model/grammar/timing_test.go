package grammar_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

var llama3 = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	return tokenizer.LoadFS(os.DirFS(llama3Folder))
})

var llama3Folder string

// llama3Vocabulary is Llama 3's, with its tokenizer.
func llama3Vocabulary(t testing.TB) (*vocab.Vocabulary, *tokenizer.Tokenizer) {
	llama3Folder = conformance.Path(t, "tokenizers", "llama3")
	tok, err := llama3()
	if err != nil {
		t.Fatal(err)
	}
	tokens := vocab.Tokens{Special: map[int32]string{}}
	for id := range int32(tok.VocabSize()) {
		text := tok.TokenBytes(id)
		if tok.IsSpecial(id) {
			tokens.Special[id] = string(text)
		}
		tokens.Bytes = append(tokens.Bytes, text)
	}
	eos, _ := tok.EOS()
	tokens.End = []int32{eos}
	v, err := vocab.New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v, tok
}

const jsonGrammar = `root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)*)? ws "}"
pair ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]{0,20}
`

// BenchmarkConformanceMask makes every mask of a JSON text: the first time, with
// empty tables, and again.
func BenchmarkConformanceMask(b *testing.B) {
	v, tok := llama3Vocabulary(b)
	text := `{"name": "Ada Lovelace", "born": 1815, "tags": ["mathematics", "poetry", "日本語"], "address": {"city": "London", "zip": null, "ok": true}}`
	tokens := tok.Encode(text, tokenizer.EncodeOptions{})
	g := map[string]string{
		"json":   jsonGrammar,
		"closed": strings.ReplaceAll(jsonGrammar, `)* "\""`, `){0,60} "\""`),
	}
	for _, name := range []string{"json", "closed"} {
		for _, again := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/first", true: "/known"}[again], func(b *testing.B) {
				mask := make([]uint32, v.Words())
				var times []time.Duration
				shared := compile(b, v, grammar.GBNF, g[name])
				for range b.N {
					if !again {
						shared = compile(b, v, grammar.GBNF, g[name])
					}
					m := shared.Matcher()
					for _, id := range tokens {
						start := time.Now()
						if err := m.Mask(mask); err != nil {
							b.Fatal(err)
						}
						times = append(times, time.Since(start))
						if !vocab.Allowed(mask, id) {
							b.Fatalf("%q is not allowed", v.Bytes(id))
						}
						if err := m.Accept(id); err != nil {
							b.Fatal(err)
						}
					}
				}
				slices.Sort(times)
				at := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Microseconds()) }
				b.ReportMetric(at(0.5), "p50-µs")
				b.ReportMetric(at(0.99), "p99-µs")
				b.ReportMetric(float64(times[len(times)-1].Microseconds()), "max-µs")
				b.ReportMetric(float64(shared.Bytes()), "grammar-bytes")
			})
		}
	}
}
