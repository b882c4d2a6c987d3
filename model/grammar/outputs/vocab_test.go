package outputs_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// marks look like the special tokens of a vocabulary.
var marks = regexp.MustCompile(`<\|[A-Za-z_:/"]+\|>|<｜(tool|DSML)[^｜<>]*｜>|｜DSML｜|\[[A-Z_/]+\]|<\|(channel|tool_call)>|<(channel|tool_call)\|>|</?arg_(key|value)>|</?tool_call>`)

// newVocabulary has all bytes, some words and pieces of JSON, and the marks of a format as special tokens if
// special. Those of ends, and </s>, end a text.
func newVocabulary(t testing.TB, f output.Format, special bool, ends ...string) *vocab.Vocabulary {
	t.Helper()
	return newVocabularyWith(t, f, special, nil, ends)
}

// newVocabularyWith has further words.
func newVocabularyWith(t testing.TB, f output.Format, special bool, further, ends []string) *vocab.Vocabulary {
	t.Helper()
	var tokens vocab.Tokens
	tokens.Special = map[int32]string{}
	for b := range 256 {
		tokens.Bytes = append(tokens.Bytes, []byte{byte(b)})
	}
	for _, word := range strings.Fields("the cat sat weather city get_weather add find name arguments parameters function tool_call think {\" \": \", \"} }} [{ true false null True False None 20 1.5 é 漢字 \U0001f600 < </ > all final") {
		tokens.Bytes = append(tokens.Bytes, []byte(word), []byte(" "+word))
	}
	tokens.Bytes = append(tokens.Bytes, []byte("\n\n"), []byte("  "), []byte("\": "))
	for _, word := range further {
		tokens.Bytes = append(tokens.Bytes, []byte(word))
	}
	if c := f.Calls; c != nil {
		for _, mark := range []string{c.Begin, c.Call.Open, c.Begin + "[{", "[" + "get_weather("} {
			if mark != "" {
				tokens.Bytes = append(tokens.Bytes, []byte(mark))
			}
		}
	}
	names := []string{"</s>"}
	if special {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(text.String(), `\"`, `"`)
		names = append(names, marks.FindAllString(plain+output.Quote, -1)...)
		if strings.HasPrefix(f.Name, "qwen") || f.Name == "hermes" { // their vocabularies have these as text
			names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "tool_call") })
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		id := int32(len(tokens.Bytes))
		tokens.Bytes = append(tokens.Bytes, nil)
		tokens.Special[id] = name
		if name == "</s>" || slices.Contains(ends, name) {
			tokens.End = append(tokens.End, id)
		}
	}
	v, err := vocab.New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func format(t testing.TB, name string) output.Format {
	t.Helper()
	list := output.Formats()
	i := slices.IndexFunc(list, func(f output.Format) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no format %q", name)
	}
	return list[i]
}

func sourceOf(t testing.TB, s outputs.Spec) grammar.Source {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return grammar.Source{Kind: grammar.Output, Text: string(text)}
}

func compile(t testing.TB, v *vocab.Vocabulary, s outputs.Spec) *grammar.Grammar {
	t.Helper()
	g, err := grammar.Compile(sourceOf(t, s), v, grammar.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", s.Format.Name, err)
	}
	return g
}

// accepts reports whether a text, with special tokens by their names, is one of g, and else how much of it
// may stand.
func accepts(g *grammar.Grammar, text string) (ok bool, upto string) {
	m, v := g.Matcher(), g.Vocabulary()
	rest := text
	for rest != "" {
		from, to, id, found := v.FindSpecial(rest)
		if !found {
			from, to = len(rest), len(rest)
		}
		for i := range from {
			if m.AcceptBytes([]byte(rest[i:i+1])) != nil {
				return false, text[:len(text)-len(rest)+i]
			}
		}
		if found && m.Accept(id) != nil {
			return false, text[:len(text)-len(rest)+from]
		}
		rest = rest[to:]
	}
	return m.CanEnd(), text
}
