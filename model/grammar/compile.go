package grammar

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/gbnf"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/lark"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/tags"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// Kind is the language of a source.
type Kind string

const (
	// JSONSchema: JSON that a schema describes, see package jsonschema.
	JSONSchema Kind = "json_schema"
	// CompactSchema: JSON that a schema describes, without white space between its tokens.
	CompactSchema Kind = "json_schema_compact"
	// JSON: any JSON. Its text is empty.
	JSON Kind = "json"
	// Regex: a regular expression that the whole text matches.
	Regex Kind = "regex"
	// EBNF: as SGLang and XGrammar take it, start symbol root.
	EBNF Kind = "ebnf"
	// GBNF: as llama.cpp takes it, start symbol root.
	GBNF Kind = "gbnf"
	// Lark: in LLGuidance's dialect, start symbol start.
	Lark Kind = "lark"
	// Tags: XGrammar's structural tags, or SGLang's older form of them, as JSON.
	Tags Kind = "structural_tag"
	// Output: a [outputs.Spec] as JSON: thoughts, content and calls of tools.
	Output Kind = "output"
	// Choice: a JSON array of strings, one of which is the text.
	Choice Kind = "choice"
)

// Source is a grammar as it was given.
type Source struct {
	Kind Kind
	Text string
}

// Compile reads a source for a vocabulary. The error is an [*Error].
func Compile(src Source, v *vocab.Vocabulary, limits Limits) (*Grammar, error) {
	limits = limits.withDefaults()
	if len(src.Text) > limits.Source {
		return nil, &Error{TooLarge, "", fmt.Sprintf("the grammar has %d bytes; at most %d are allowed", len(src.Text), limits.Source), "shorten it"}
	}
	b := builder(limits)
	var omitted []Omission
	start, err := build(b, src, v, &omitted)
	if err != nil {
		return nil, asError(err)
	}
	g, err := newGrammar(b, start, v, limits)
	if err != nil {
		return nil, err
	}
	g.omitted = omitted
	return g, nil
}

func build(b *cfg.Builder, src Source, v *vocab.Vocabulary, omitted *[]Omission) (cfg.Symbol, error) {
	inner := func(text []byte) (cfg.Symbol, error) { return schema(b, text) }
	switch src.Kind {
	case JSONSchema:
		return schema(b, []byte(src.Text))
	case CompactSchema:
		s, _, err := jsonschema.Compile(b, []byte(src.Text), jsonschema.Options{Indent: -1})
		return s, err
	case JSON:
		return schema(b, []byte("true"))
	case Regex:
		t, err := b.Set.Parse(src.Text, regex.Options{})
		return b.Terminal(t), err
	case EBNF, GBNF:
		return gbnf.Compile(b, src.Text, gbnf.Options{Root: "root", Token: v.Special, Special: v.IsNamed, EmptyAlternatives: src.Kind == GBNF})
	case Lark:
		return lark.Compile(b, src.Text, lark.Options{Token: v.Special, JSON: inner})
	case Tags:
		return tags.Compile(b, []byte(src.Text), tags.Options{Token: v.Special, JSON: inner,
			Grammar: func(text string) (cfg.Symbol, error) { return build(b, Source{EBNF, text}, v, omitted) }})
	case Output:
		s, list, err := outputs.Compile(b, []byte(src.Text), outputs.Options{Special: v.FindSpecial, Ends: v.IsEnd,
			Grammar: func(kind, text string) (cfg.Symbol, error) {
				if Kind(kind) == Output {
					return 0, &Error{Unsupported, "", "an output is no content", "use another kind"}
				}
				return build(b, Source{Kind(kind), text}, v, omitted)
			}})
		*omitted = list
		return s, err
	case Choice:
		return choices(b, src.Text)
	}
	return 0, &Error{Unsupported, "", fmt.Sprintf("unknown kind of grammar %q", src.Kind), "use json_schema, json_schema_compact, json, regex, ebnf, gbnf, lark, structural_tag, output or choice"}
}

// schema compiles a JSON schema, strictly.
func schema(b *cfg.Builder, text []byte) (cfg.Symbol, error) {
	s, _, err := jsonschema.Compile(b, text, jsonschema.Options{})
	return s, err
}

// choices reads a JSON array of strings.
func choices(b *cfg.Builder, text string) (cfg.Symbol, error) {
	var list []*string
	switch err := json.Unmarshal([]byte(text), &list); {
	case err != nil && !json.Valid([]byte(text)):
		return 0, &cfg.Error{Reason: "the choices are not a JSON array of strings: " + err.Error()}
	case err != nil || slices.Contains(list, nil):
		return 0, &cfg.Error{Reason: "the choices are not a JSON array of strings"}
	case len(list) == 0:
		return 0, &cfg.Error{Reason: "there is no choice", Remedy: "give at least one string"}
	}
	terms := make([]regex.Term, len(list))
	for i, text := range list {
		terms[i] = b.Set.Literal(*text)
	}
	return b.Terminal(b.Set.Or(terms...)), nil
}
