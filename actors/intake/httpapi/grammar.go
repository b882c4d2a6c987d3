package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
)

// Grammars compiles grammars for a model's vocabulary, and keeps them.
type Grammars interface {
	// Get returns a compiled grammar. The error is a *grammar.Error, store.ErrFull, or that of ctx.
	Get(ctx context.Context, src grammar.Source) (*grammar.Grammar, error)
	// Kept does so without waiting, if it is known whether the grammar can be used.
	Kept(src grammar.Source) (g *grammar.Grammar, err error, kept bool)
}

// constraint are the parameters that say what an output must match: OpenAI's response_format,
// and the extensions of vLLM, SGLang, llama.cpp and Ollama under their names. A request has
// at most one.
type constraint struct {
	ResponseFormat *responseFormat    `json:"response_format"`
	Structured     *structuredOutputs `json:"structured_outputs"` // vLLM's
	GuidedJSON     json.RawMessage    `json:"guided_json"`        // vLLM's older names
	GuidedRegex    *string            `json:"guided_regex"`
	GuidedChoice   json.RawMessage    `json:"guided_choice"`
	GuidedGrammar  *string            `json:"guided_grammar"`
	JSONSchema     json.RawMessage    `json:"json_schema"` // SGLang's: a string; llama.cpp's: an object
	Regex          *string            `json:"regex"`       // SGLang's
	EBNF           *string            `json:"ebnf"`
	StructuralTag  json.RawMessage    `json:"structural_tag"` // a string or an object
	Grammar        *string            `json:"grammar"`        // llama.cpp's: GBNF
	Format         json.RawMessage    `json:"format"`         // Ollama's: "json" or a schema

	chosen *source // the one that the request has
}

// strictMembers are objects whose unknown members are refused: without them the output would
// be constrained in another way than the client means.
var strictMembers = map[reflect.Type]bool{
	reflect.TypeFor[responseFormat](): true, reflect.TypeFor[schemaFormat](): true, reflect.TypeFor[structuredOutputs](): true,
}

// responseFormat is response_format. Fields that its type does not have are refused.
type responseFormat struct {
	Type       string          `json:"type"`
	JSONSchema *schemaFormat   `json:"json_schema"`
	Schema     json.RawMessage `json:"schema"` // llama.cpp's and Together's, beside json_object
	Tag        json.RawMessage `json:"format"` // of a structural tag; or both of SGLang's older form
	Structures json.RawMessage `json:"structures"`
	Triggers   json.RawMessage `json:"triggers"`
}

type schemaFormat struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"` // a schema is always enforced as a whole
}

type structuredOutputs struct {
	JSON          json.RawMessage `json:"json"`
	Regex         *string         `json:"regex"`
	Choice        json.RawMessage `json:"choice"`
	Grammar       *string         `json:"grammar"`
	JSONObject    *bool           `json:"json_object"`
	StructuralTag json.RawMessage `json:"structural_tag"`
	NoWhitespace  *bool           `json:"disable_any_whitespace"` // between the tokens of JSON
	// Other forms of JSON, which are refused unless they change nothing.
	Whitespace *string `json:"whitespace_pattern"`
	NoOthers   *bool   `json:"disable_additional_properties"`
}

// source is a grammar and the parameter that it comes from.
type source struct {
	name string
	src  grammar.Source
	// place translates a place in it into a parameter and a place there; nil: it is one in name.
	place func(at string) (param, rest string)
}

// sources lists the grammars of a request.
func (c *constraint) sources() (list []source, err *apiError) {
	add := func(name string, kind grammar.Kind, text string, given bool) {
		switch {
		case !given:
		case text == "":
			err = cmp.Or(err, invalid(name, "%s is empty; leave it out, or send a grammar", name))
		default:
			list = append(list, source{name: name, src: grammar.Source{Kind: kind, Text: text}})
		}
	}
	text := func(name string, kind grammar.Kind, value *string) { add(name, kind, given(value, ""), value != nil) }
	schema := func(name string, kind grammar.Kind, raw json.RawMessage) {
		add(name, kind, schemaText(raw), !isNull(raw))
	}
	if f := c.ResponseFormat; f != nil {
		one, err := f.source()
		if err != nil {
			return nil, err
		}
		if one.name != "" {
			list = append(list, one)
		}
	}
	guided := structuredOutputs{JSON: c.GuidedJSON, Regex: c.GuidedRegex, Choice: c.GuidedChoice, Grammar: c.GuidedGrammar}
	for _, of := range []struct {
		prefix string
		*structuredOutputs
	}{{"structured_outputs.", cmp.Or(c.Structured, &structuredOutputs{})}, {"guided_", &guided}} {
		prefix, s := of.prefix, of.structuredOutputs
		json := grammar.JSONSchema
		if given(s.NoWhitespace, false) {
			json = grammar.CompactSchema
		}
		schema(prefix+"json", json, s.JSON)
		text(prefix+"regex", grammar.Regex, s.Regex)
		add(prefix+"choice", grammar.Choice, textOf(s.Choice), !isNull(s.Choice))
		text(prefix+"grammar", kindOf(given(s.Grammar, "")), s.Grammar)
		add(prefix+"json_object", json, anyObject, given(s.JSONObject, false))
		schema(prefix+"structural_tag", grammar.Tags, s.StructuralTag)
		switch {
		case given(s.Whitespace, "") != "":
			err = cmp.Or(err, unsupported(prefix+"whitespace_pattern", "leave it out; white space between JSON tokens is a space, or a line break with spaces"))
		case given(s.NoOthers, false):
			err = cmp.Or(err, unsupported(prefix+"disable_additional_properties", `leave it out, and set "additionalProperties": false in the schema`))
		}
	}
	if c.Structured != nil && len(list) == 0 && err == nil {
		err = invalid("structured_outputs", "structured_outputs has no constraint; send json, json_object, regex, choice, grammar or structural_tag, or leave it out")
	}
	schema("json_schema", grammar.JSONSchema, c.JSONSchema)
	text("regex", grammar.Regex, c.Regex)
	text("ebnf", grammar.EBNF, c.EBNF)
	schema("structural_tag", grammar.Tags, c.StructuralTag)
	if given(c.Grammar, "") != "" { // llama.cpp's clients send an empty one
		text("grammar", grammar.GBNF, c.Grammar)
	}
	switch format := textOf(c.Format); {
	case format == "" || format == `""`: // as Ollama's clients do
	case format == `"json"`:
		add("format", grammar.JSONSchema, anyObject, true)
	case strings.HasPrefix(format, `"`):
		err = cmp.Or(err, invalid("format", `"format" is %s; it must be "json", or a JSON schema as an object`, clip(format, 64)))
	default:
		schema("format", grammar.JSONSchema, c.Format)
	}
	return list, err
}

// anyObject is the schema of the JSON mode: OpenAI's API promises an object.
const anyObject = `{"type":"object"}`

// source is the grammar of a response_format; without a name there is none.
func (f *responseFormat) source() (source, *apiError) {
	const name = "response_format"
	extra := map[string]bool{"json_schema": f.JSONSchema != nil, "schema": !isNull(f.Schema), "format": !isNull(f.Tag), "structures": !isNull(f.Structures), "triggers": !isNull(f.Triggers)}
	only := func(allowed ...string) *apiError {
		for _, field := range allowed {
			delete(extra, field)
		}
		for _, field := range slices.Sorted(maps.Keys(extra)) {
			if extra[field] {
				return invalid(name+"."+field, "response_format has the field %s, which the type %s does not have; leave it out, or change the type", own(field), f.Type)
			}
		}
		return nil
	}
	schema := func(name string, text json.RawMessage) (source, *apiError) {
		return source{name: name, src: grammar.Source{Kind: grammar.JSONSchema, Text: string(text)}}, nil
	}
	switch f.Type {
	case "text":
		return source{}, only()
	case "json_object":
		if err := only("schema"); err != nil || !isNull(f.Schema) {
			one, _ := schema(name+".schema", f.Schema)
			return one, err
		}
		return schema(name, json.RawMessage(anyObject))
	case "json_schema":
		if err := only("json_schema"); err != nil {
			return source{}, err
		}
		if f.JSONSchema == nil || isNull(f.JSONSchema.Schema) {
			return source{}, invalid(name+".json_schema", `response_format has the type json_schema and no schema; send {"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}`)
		}
		return schema(name+".json_schema.schema", f.JSONSchema.Schema)
	case "structural_tag":
		if err := only("format", "structures", "triggers"); err != nil {
			return source{}, err
		}
		var text bytes.Buffer
		text.WriteString(`{"type":"structural_tag"`)
		for _, part := range []struct {
			key   string
			value json.RawMessage
		}{{"format", f.Tag}, {"structures", f.Structures}, {"triggers", f.Triggers}} {
			if !isNull(part.value) {
				text.WriteString(`,"` + part.key + `":`)
				text.Write(part.value)
			}
		}
		text.WriteByte('}')
		return source{name: name, src: grammar.Source{Kind: grammar.Tags, Text: text.String()}}, nil
	}
	if f.Type == "" {
		return source{}, invalid(name+".type", "response_format has no type; it must be text, json_object, json_schema or structural_tag")
	}
	return source{}, invalid(name+".type", "response_format.type is %q; it must be text, json_object, json_schema or structural_tag", clip(f.Type, 64))
}

// schemaText is a JSON value, or the text of one in a string. "" means that there is none.
func schemaText(raw json.RawMessage) string {
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return textOf(raw)
}

func textOf(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	return string(raw)
}

// kindOf tells the languages of vLLM's grammars apart, as vLLM does.
func kindOf(text string) grammar.Kind {
	if strings.Contains(text, "::=") {
		return grammar.EBNF
	}
	return grammar.Lark
}

// choose finds the request's grammar, if it has one.
func (c *constraint) choose(m *Model, p *messages.SamplingParams) *apiError {
	list, err := c.sources()
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return nil
	case len(list) > 1:
		return invalid(list[1].name, "%s and %s both constrain the output; send one of them", list[0].name, list[1].name)
	case m.Grammars == nil:
		return newError(http.StatusBadRequest).coded("unsupported_parameter").about(list[0].name).say("%s cannot be used: %v", list[0].name, m.GrammarFault)
	}
	c.chosen = &list[0]
	p.Grammar = &messages.Grammar{Kind: string(c.chosen.src.Kind), Text: c.chosen.src.Text}
	return nil
}

// compile compiles a plan's grammar, so that a faulty one is refused here, and an engine finds
// it compiled. The request holds no place meanwhile, because it may take seconds. A header of the
// answer names what the grammar leaves out.
func (s *Server) compile(w http.ResponseWriter, r *http.Request, p *plan) *apiError {
	if p.grammar == nil {
		return nil
	}
	name, grammars := p.within+p.grammar.name, p.served.Model.Grammars
	g, failed, kept := grammars.Kept(p.grammar.src)
	if !kept {
		leave, full := s.compilations.enter(client(r))
		if full != "" {
			return newError(http.StatusTooManyRequests).coded(codeLimited).about(name).retry(1).say("%s; send the request again in a moment", own(full))
		}
		defer leave()
		g, failed = grammars.Get(r.Context(), p.grammar.src)
	}
	if failed != nil {
		return p.grammar.refused(r.Context(), p.within, failed)
	}
	if omitted := p.grammar.omitted(g.Omitted()); omitted != "" {
		w.Header().Set(omittedHeader, omitted)
	}
	return nil
}

// omittedHeader names the keywords of tools' schemas that are not enforced.
const omittedHeader = "X-Troupe-Unenforced-Keywords"

// maxOmitted bounds the header, in bytes.
const maxOmitted = 2048

// omitted lists keywords with their places. A place with other characters than a header may
// have is named up to them.
func (s *source) omitted(list []grammar.Omission) string {
	var text strings.Builder
	for i, o := range list {
		param, rest := s.name, o.At
		if s.place != nil {
			param, rest = s.place(o.At)
		}
		if at := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }); at >= 0 {
			rest = rest[:at] + "..."
		}
		one := param + rest + ": " + o.Keyword
		if text.Len()+len(one) > maxOmitted {
			fmt.Fprintf(&text, ", and %d more", len(list)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(one)
	}
	return text.String()
}

// Bounds of the requests whose grammars are compiled or wait for it.
const (
	maxCompilations       = 64
	maxClientCompilations = 8
)

// compilations counts them. Handlers share only this lock, for a few additions.
type compilations struct {
	mu      sync.Mutex
	all     int
	clients map[string]int // no zeros
}

// enter counts one more, until leave. full says what is full.
func (c *compilations) enter(client string) (leave func(), full string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.all == maxCompilations:
		return nil, "too many grammars are being compiled"
	case c.clients[client] == maxClientCompilations:
		return nil, "too many grammars of this client are being compiled"
	case c.clients == nil:
		c.clients = map[string]int{}
	}
	c.all++
	c.clients[client]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.clients[client]--; c.clients[client] == 0 {
			delete(c.clients, client)
		}
	}, ""
}

// refused is the error about a grammar that cannot be used.
func (s *source) refused(ctx context.Context, within string, failed error) *apiError {
	e, is := errors.AsType[*grammar.Error](failed)
	name, at := s.name, ""
	if is {
		at = e.At
	}
	if s.place != nil {
		name, at = s.place(at)
	}
	name = within + name
	switch {
	case errors.Is(failed, store.ErrFull):
		return newError(http.StatusTooManyRequests).coded(codeLimited).about(name).retry(1).say("%v; send the request again in a moment, or one with a grammar that other requests have", own(failed))
	case !is:
		return clientGone(ctx, failed)
	}
	where := ""
	if at != "" {
		where = ", at " + clip(at, maxErrorParam)
	}
	remedy := ""
	if e.Remedy != "" {
		remedy = "; " + clip(e.Remedy, 300)
	}
	return invalid(name, "%s cannot be used%s: %s%s", name, where, clip(e.Reason, 1000), remedy).coded("invalid_grammar")
}
