// Package tags reads structural tags: free text in which certain tags must hold
// what they promise. It takes XGrammar's tree,
//
//	{"type": "structural_tag", "format": {"type": "triggered_tags",
//	  "triggers": ["<function="],
//	  "tags": [{"begin": "<function=f>", "content": {"type": "json_schema", …}, "end": "</function>"}]}}
//
// and the older form of SGLang, which means the same:
//
//	{"type": "structural_tag", "triggers": ["<function="],
//	  "structures": [{"begin": "<function=f>", "schema": {…}, "end": "</function>"}]}
//
// A field that is not known is an error.
package tags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// Options compile what a format may hold.
type Options struct {
	// Token finds a special token by its name; nil: there are none.
	Token func(name string) (int32, bool)
	// JSON compiles a JSON schema; nil: refused.
	JSON func(schema []byte) (cfg.Symbol, error)
	// Grammar compiles EBNF.
	Grammar func(text string) (cfg.Symbol, error)
}

const (
	maxDepth  = 200
	maxRepeat = rules.MaxRepeat
)

// Compile adds the structural tag to b and returns its symbol. Errors in the
// source are [*cfg.Error] and name a JSON pointer.
func Compile(b *cfg.Builder, source []byte, o Options) (cfg.Symbol, error) {
	c := &compiler{b: b, o: o}
	top, err := c.object(source, "")
	if err != nil {
		return 0, err
	}
	kind, err := top.text("type", "structural_tag")
	if err != nil {
		return 0, err
	}
	if kind != "structural_tag" {
		return 0, top.fail("type", "expected structural_tag")
	}
	var s cfg.Symbol
	if top.has("structures") {
		s, err = c.structures(top)
	} else {
		s, err = c.format(top.need("format"), "/format", nil, 0)
	}
	if err != nil {
		return 0, err
	}
	return s, top.done()
}

type compiler struct {
	b *cfg.Builder
	o Options
}

// format compiles one node. stops are texts that free text may not hold,
// because they end what it is in.
func (c *compiler) format(source json.RawMessage, at string, stops []string, depth int) (cfg.Symbol, error) {
	if depth > maxDepth {
		return 0, &cfg.Error{At: at, Reason: fmt.Sprintf("formats nest deeper than %d", maxDepth)}
	}
	o, err := c.object(source, at)
	if err != nil {
		return 0, err
	}
	kind, err := o.text("type", "")
	if err != nil {
		return 0, err
	}
	if kind == "" && o.has("begin") {
		kind = "tag"
	}
	s, err := c.node(kind, o, stops, depth)
	if err != nil {
		return 0, err
	}
	return s, o.done()
}

func (c *compiler) node(kind string, o *object, stops []string, depth int) (cfg.Symbol, error) {
	switch kind {
	case "const_string":
		text, err := o.needText("value")
		return c.b.Literal(text), err
	case "json_schema":
		return c.schema(o, "json_schema")
	case "grammar":
		text, err := o.needText("grammar")
		if err != nil {
			return 0, err
		}
		s, err := c.o.Grammar(text)
		return s, o.wrap("grammar", err)
	case "regex":
		return c.regex(o)
	case "any_text":
		excluded, err := o.texts("excludes")
		if err != nil {
			return 0, err
		}
		return c.b.Terminal(rules.Without(c.b.Set, rules.AnyText(c.b.Set), append(excluded, stops...))), nil
	case "sequence", "or":
		list, err := c.elements(o, stops, depth)
		if err != nil {
			return 0, err
		}
		if kind == "or" {
			return c.b.Choice(list...), nil
		}
		return c.b.Sequence(list...), nil
	case "optional", "star", "plus", "repeat":
		return c.repeat(kind, o, stops, depth)
	case "tag":
		t, err := c.tag(o, depth)
		if err != nil {
			return 0, err
		}
		return c.b.Sequence(c.b.Literal(t.begin), t.rest), nil
	case "triggered_tags":
		return c.triggered(o, stops, depth)
	case "tags_with_separator":
		return c.separated(o, depth)
	case "dispatch":
		return c.dispatch(o, stops, depth)
	case "token":
		return c.token(o)
	}
	return 0, o.fail("type", fmt.Sprintf("the format %q is not supported", kind))
}

func (c *compiler) schema(o *object, field string) (cfg.Symbol, error) {
	schema := o.need(field)
	style, err := o.text("style", "json")
	if err != nil {
		return 0, err
	}
	if style != "json" {
		return 0, o.fail("style", fmt.Sprintf("the style %q is not supported; use json", style))
	}
	if len(schema) == 0 || schema[0] != '{' && schema[0] != 't' && schema[0] != 'f' {
		return 0, o.fail(field, "expected a JSON schema")
	}
	if c.o.JSON == nil {
		return 0, o.fail(field, "JSON schemas are not supported here")
	}
	s, err := c.o.JSON(schema)
	return s, o.wrap(field, err)
}

func (c *compiler) regex(o *object) (cfg.Symbol, error) {
	pattern, err := o.needText("pattern")
	if err != nil {
		return 0, err
	}
	excluded, err := o.texts("excludes")
	if err != nil {
		return 0, err
	}
	t, err := c.b.Set.Parse(pattern, regex.Options{ECMA: true})
	if err != nil {
		return 0, o.wrap("pattern", err)
	}
	return c.b.Terminal(rules.Without(c.b.Set, t, excluded)), nil
}

func (c *compiler) elements(o *object, stops []string, depth int) ([]cfg.Symbol, error) {
	list, err := o.list("elements")
	if err != nil {
		return nil, err
	}
	var out []cfg.Symbol
	for i, e := range list {
		s, err := c.format(e, fmt.Sprintf("%s/elements/%d", o.at, i), stops, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *compiler) repeat(kind string, o *object, stops []string, depth int) (cfg.Symbol, error) {
	lo, hi := 0, -1
	var err error
	switch kind {
	case "optional":
		hi = 1
	case "plus":
		lo = 1
	case "repeat":
		if lo, err = o.integer("min", 0, maxRepeat); err != nil {
			return 0, err
		}
		if hi, err = o.integer("max", -1, maxRepeat); err != nil {
			return 0, err
		}
		if hi >= 0 && hi < lo {
			return 0, o.fail("max", "max is below min")
		}
	}
	s, err := c.format(o.need("content"), o.at+"/content", stops, depth+1)
	if err != nil {
		return 0, err
	}
	return c.b.Repeat(s, lo, hi), nil
}

func (c *compiler) token(o *object) (cfg.Symbol, error) {
	name, err := o.needText("token")
	if err != nil {
		return 0, err
	}
	if c.o.Token != nil {
		if id, ok := c.o.Token(name); ok {
			return c.b.Token(id), nil
		}
	}
	return 0, o.fail("token", fmt.Sprintf("the model has no special token %q", name))
}

// object is a JSON object whose fields are asked for one by one.
type object struct {
	at     string
	fields map[string]json.RawMessage
	used   map[string]bool
}

func (c *compiler) object(source json.RawMessage, at string) (*object, error) {
	o := &object{at: at, used: map[string]bool{}}
	if len(bytes.TrimSpace(source)) == 0 {
		return nil, &cfg.Error{At: at, Reason: "a format is missing"}
	}
	if err := json.Unmarshal(source, &o.fields); err != nil || o.fields == nil {
		return nil, &cfg.Error{At: at, Reason: "expected a JSON object"}
	}
	return o, nil
}

func (o *object) fail(field, reason string) error {
	return &cfg.Error{At: o.at + "/" + cfg.PointerPart(field), Reason: reason}
}

func (o *object) wrap(field string, err error) error {
	if err == nil {
		return nil
	}
	return o.fail(field, err.Error())
}

func (o *object) has(field string) bool { _, ok := o.fields[field]; return ok }

// need returns a field, nil if it is missing: whoever reads it will say so.
func (o *object) need(field string) json.RawMessage {
	o.used[field] = true
	return o.fields[field]
}

// read decodes a field into v. ok: it is there.
func (o *object) read(field string, v any, what string) (ok bool, err error) {
	raw := o.need(field)
	if raw == nil || string(raw) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, o.fail(field, "expected "+what)
	}
	return true, nil
}

func (o *object) text(field, fallback string) (string, error) {
	v := fallback
	_, err := o.read(field, &v, "a string")
	return v, err
}

func (o *object) needText(field string) (string, error) {
	var v string
	ok, err := o.read(field, &v, "a string")
	if err == nil && !ok {
		err = o.fail(field, "this field is missing")
	}
	return v, err
}

func (o *object) flag(field string, fallback bool) (bool, error) {
	v := fallback
	_, err := o.read(field, &v, "true or false")
	return v, err
}

func (o *object) integer(field string, lo, hi int) (int, error) {
	var v json.Number
	ok, err := o.read(field, &v, "an integer")
	if err != nil {
		return 0, err
	}
	n, e := strconv.Atoi(v.String())
	if !ok || e != nil || n < lo || n > hi {
		return 0, o.fail(field, fmt.Sprintf("expected an integer between %d and %d", lo, min(hi, math.MaxInt32)))
	}
	return n, nil
}

// texts reads a list of strings, none of them empty.
func (o *object) texts(field string) ([]string, error) {
	var v []string
	if _, err := o.read(field, &v, "a list of strings"); err != nil {
		return nil, err
	}
	for _, text := range v {
		if text == "" {
			return nil, o.fail(field, "a string is empty")
		}
	}
	return v, nil
}

func (o *object) list(field string) ([]json.RawMessage, error) {
	var v []json.RawMessage
	ok, err := o.read(field, &v, "a list")
	if err == nil && (!ok || len(v) == 0) {
		err = o.fail(field, "expected a list with at least one entry")
	}
	return v, err
}

// done refuses fields that nobody asked for.
func (o *object) done() error {
	first := ""
	for field := range o.fields {
		if !o.used[field] && (first == "" || field < first) {
			first = field
		}
	}
	if first != "" {
		return o.fail(first, "unknown field")
	}
	return nil
}
