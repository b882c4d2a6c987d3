package model_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// canonical counts where the tokens that are certain are those of the tokenizer.
type canonical struct {
	tok *tokenizer.Tokenizer
	v   *vocab.Vocabulary
	// blank is what the tokenizer puts before a text, and the texts of grammars begin with.
	blank string
	seen  struct{ tokens, certain, wrong int }
}

func newCanonical(t *testing.T, files model.Files) *canonical {
	tok, v := vocabularyOf(t, files)
	c := &canonical{tok: tok, v: v}
	if ids := tok.Encode("a", tokenizer.EncodeOptions{}); v.Bytes(ids[0])[0] == ' ' {
		c.blank = " "
	}
	return c
}

// follow reports whether the grammar allows text, and compares its tokens with those that are
// certain. A token that is certain must be allowed, too.
func (c *canonical) follow(t *testing.T, source grammar.Source, text string) bool {
	t.Helper()
	g, err := grammar.Compile(source, c.v, grammar.Limits{})
	if err != nil {
		return false
	}
	m, last, mask := g.Matcher(), vocab.None, make([]uint32, c.v.Words())
	for _, id := range c.tok.Encode(strings.TrimPrefix(text, c.blank), tokenizer.EncodeOptions{}) {
		token, err := m.Certain(last)
		if err != nil {
			t.Fatal(err)
		}
		again := m.Clone()
		again.Known = true
		if known, err := again.Certain(last); known != token || err != nil {
			t.Fatalf("%q: token %d is certain, and then %d, %v", text, token, known, err)
		}
		if token != vocab.None {
			if err := m.Mask(mask); err != nil || !vocab.Allowed(mask, token) {
				t.Fatalf("%q: %q is certain and not allowed (%v)", text, c.v.Bytes(token), err)
			}
		}
		if err := m.Accept(id); err != nil {
			return false
		}
		c.seen.tokens++
		if token != vocab.None {
			c.seen.certain++
		}
		if token != vocab.None && token != id {
			if c.seen.wrong++; c.seen.wrong < 20 {
				t.Logf("%q is certain behind %q, the tokenizer has %q", c.v.Bytes(token), bytesOf(c.v, last), c.v.Bytes(id))
			}
		}
		last = id
	}
	return true
}

func bytesOf(v *vocab.Vocabulary, id int32) []byte {
	if id == vocab.None {
		return nil
	}
	return v.Bytes(id)
}

func (c *canonical) end(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: of %d tokens %d are certain, %d of these differ from the tokenizer's", what, c.seen.tokens, c.seen.certain, c.seen.wrong)
	if s := c.seen; s.certain < s.tokens/50 || s.wrong*1000 > s.certain {
		t.Errorf("%s: too few are certain, or too many differ", what)
	}
}

// pairs are choices of two texts with a common beginning.
func (c *canonical) pairs(t *testing.T, texts []string, random *rand.Rand) {
	for i, text := range texts {
		other := texts[(i+1)%len(texts)]
		runes, others := []rune(text), []rune(other)
		cut, from := random.IntN(len(runes)+1), random.IntN(len(others)+1)
		both := []string{c.blank + text, c.blank + string(runes[:cut]) + string(others[from:])}
		list, err := json.Marshal(both)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range both {
			c.follow(t, grammar.Source{Kind: grammar.Choice, Text: string(list)}, text)
		}
	}
}

// pieces cuts texts into lines of all kinds, also in the middle of words.
func pieces(texts []string, n int, random *rand.Rand) (list []string) {
	for range n {
		runes := []rune(texts[random.IntN(len(texts))] + "\n")
		from := random.IntN(len(runes))
		list = append(list, string(runes[from:min(len(runes), from+1+random.IntN(120))]))
	}
	return list
}

// mixtures are texts of what expressions of tokenizers tell apart.
func mixtures(n int, random *rand.Rand) (list []string) {
	parts := []string{" ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "1", "23", "name", "The", "é", "日本", "🦊", "{", "\"", "\":", "}],", "-", ".", "_", "\u0301", "\\"}
	for range n {
		var text strings.Builder
		for range 1 + random.IntN(20) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		list = append(list, text.String())
	}
	return list
}

// What is certain is how the tokenizer cuts whole texts, wherever alternatives begin.
func TestCertain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	c := newCanonical(t, model.Directory(bundled.FS()))
	c.pairs(t, pieces(corpus, 300, random), random)
	c.pairs(t, mixtures(300, random), random)
	c.end(t, "bundled")
}

func TestConformanceCertain(t *testing.T) {
	texts := append([]string(nil), corpus...)
	for _, name := range []string{"gsm8k_test.jsonl", "mt_bench_question.jsonl"} {
		data, err := os.ReadFile(conformance.Path(t, "prompts", name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data[:min(len(data), 100_000)]))
	}
	for _, name := range []string{"llama2", "llama3", "mistral_v1", "phi3", "qwen25", "qwen3"} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			c := newCanonical(t, model.Directory(os.DirFS(conformance.Path(t, "tokenizers", name))))
			c.pairs(t, pieces(texts, 1500, random), random)
			c.pairs(t, mixtures(1500, random), random)
			c.end(t, "texts")
		})
	}
}

// TestConformanceCertainJSON follows valid instances of MaskBench's schemas, compact, spaced and
// indented.
func TestConformanceCertainJSON(t *testing.T) {
	var all []*canonical
	names := []string{"llama3", "qwen25"}
	for _, name := range names {
		all = append(all, newCanonical(t, model.Directory(os.DirFS(conformance.Path(t, "tokenizers", name)))))
	}
	for i, c := range conformance.Schemas(t) {
		if i%40 != 0 {
			continue
		}
		for _, test := range c.Tests {
			var compact, indented bytes.Buffer
			if !test.Valid || json.Compact(&compact, test.Data) != nil || json.Indent(&indented, test.Data, "", "  ") != nil || compact.Len() > 3000 {
				continue
			}
			for _, text := range []string{compact.String(), indented.String()} {
				for _, of := range all {
					of.follow(t, grammar.Source{Kind: grammar.JSONSchema, Text: string(c.Schema)}, text)
				}
			}
		}
	}
	for i, c := range all {
		c.end(t, names[i])
	}
}
