package outputs

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/lark"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// InputKey is the key of a custom tool's only argument. A parser of such calls has [InputParameters].
const InputKey = "input"

// InputParameters is the schema of the arguments of a custom tool.
const InputParameters = `{"type":"object","properties":{"` + InputKey + `":{"type":"string"}},"required":["` + InputKey + `"],"additionalProperties":false}`

// input is the arguments of a custom tool: one text that has a grammar.
func (c *compiler) input(t *tool, form output.Arguments) (part, error) {
	text, err := c.inputText(t)
	if err != nil {
		return nothing, place(t.at+"/input", err)
	}
	space, quote := c.term(c.space), c.literal(`"`)
	switch form {
	case output.XML:
		return c.inputParam(t, text)
	case output.Bare:
		return c.seq(c.literal("{"+InputKey+":"), c.bareText(text), c.literal("}")), nil
	}
	if text, err = c.escaped(text); err != nil {
		return nothing, place(t.at+"/input", err)
	}
	if form == output.Python {
		return c.seq(c.literal(InputKey), space, c.literal("="), space, quote, text, quote, space, c.literal(")")), nil
	}
	return c.seq(c.literal("{"), space, c.literal(`"`+InputKey+`"`), space, c.literal(":"), space, quote, text, quote, space, c.literal("}")), nil
}

// inputText compiles the grammar of an input, which knows neither special tokens nor schemas.
func (c *compiler) inputText(t *tool) (part, error) {
	if t.Input.Kind == "regex" {
		term, err := c.set.Parse(t.Input.Text, regex.Options{})
		return c.term(term), err
	}
	s, err := lark.Compile(c.b, t.Input.Text, lark.Options{})
	return c.sym(s), err
}

// escaped is texts as they stand in a JSON string, with the escapes that writers of JSON use.
func (c *compiler) escaped(text part) (part, error) {
	if c.escapes == nil {
		with := map[byte]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
		for b := range byte(' ') {
			if with[b] == "" {
				with[b] = fmt.Sprintf(`\u%04x`, b)
			}
		}
		c.escapes = c.set.Respell(with)
	}
	if !text.isSymbol {
		return c.term(c.escapes.Term(text.term)), nil
	}
	s, err := c.b.Respell(text.sym, c.escapes.Term)
	if errors.Is(err, cfg.ErrNotText) {
		err = &cfg.Error{Reason: err.Error()}
	}
	return c.sym(s), err
}

// inputParam is an input between tags.
func (c *compiler) inputParam(t *tool, text part) (part, error) {
	p := c.Format.Calls.Call.Params
	w := &paramWriter{c, t, p, nil}
	if !text.isSymbol {
		w.end = c.mark(p.Close)
		one := w.write(jsonschema.Member{Name: InputKey, Text: text.term})
		return c.seq(c.sym(c.b.Sequence(one...)), c.term(c.space), c.marked(p.End)), nil
	}
	line := nothing
	if p.Framed {
		line = c.literal("\n")
	}
	// The text stands where the header of an empty value ends.
	empty := &paramWriter{c, t, p, append([]part{line, text, line}, c.mark(p.Close)...)}
	unframed := *p
	unframed.Framed = false
	empty.p = &unframed
	one := empty.write(jsonschema.Member{Name: InputKey, Text: regex.Empty})
	return c.seq(c.sym(c.b.Sequence(one...)), c.term(c.space), c.marked(p.End)), nil
}
