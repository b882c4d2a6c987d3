package outputs

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// Options say what a spec may refer to.
type Options struct {
	// Special finds the first name of a special token in a text; nil: there are none.
	Special func(text string) (from, to int, id int32, ok bool)
	// Ends reports whether a special token ends a text. Where a mark ends in one, the text
	// may end before it. nil: none does.
	Ends func(id int32) bool
	// Grammar compiles the content.
	Grammar func(kind, text string) (cfg.Symbol, error)
}

// Compile adds the outputs that a spec, as JSON, allows to b. It returns their symbol, and what it
// leaves out of the schemas of tools that are not strict. An error in a part of the spec is an
// [*Error].
func Compile(b *cfg.Builder, text []byte, o Options) (cfg.Symbol, []Omission, error) {
	s, err := read(text)
	if err != nil {
		return 0, nil, err
	}
	c := &compiler{Spec: s, b: b, set: b.Set, o: o, steps: 2_000_000}
	c.prepare()
	if s.Content != nil {
		if c.content, err = o.Grammar(s.Content.Kind, s.Content.Text); err != nil {
			return 0, nil, &Error{"/content", err}
		}
	}
	if err := c.readTools(); err != nil {
		return 0, nil, err
	}
	var out part
	if s.Format.Messages != nil {
		out, err = c.messages()
	} else {
		out, err = c.output()
	}
	if err != nil {
		return 0, nil, err
	}
	return c.symbol(out), c.omitted, b.Err()
}

// compiler is one compilation.
type compiler struct {
	*Spec
	b       *cfg.Builder
	set     *regex.Set
	o       Options
	content cfg.Symbol
	tools   []tool
	omitted []Omission
	steps   int               // of all schemas together
	escapes *regex.Respelling // nil until there is an input
	bared   part              // arguments of any tool, once they are made

	space   regex.Term // white space where the parser passes over it
	anyText regex.Term
	free    regex.Term // a piece of free content
	opens   []string   // marks that begin calls
}

// maxSpace bounds white space around the parts of calls, in characters.
const maxSpace = 8

func (c *compiler) prepare() {
	c.space = c.set.Repeat(c.set.OneOf(regex.SetOf(" \t\r\n")), 0, maxSpace)
	c.anyText, c.bared = rules.AnyText(c.set), nothing
}

// tool is a tool with what is written in the place of its name and its arguments.
type tool struct {
	*Tool
	at        string // pointer
	arguments part   // behind a header, with the end of them
	types     func(key string) []string
}

// readTools compiles the arguments of all tools.
func (c *compiler) readTools() error {
	c.tools = make([]tool, len(c.Tools))
	for i := range c.Tools {
		t := &c.tools[i]
		t.Tool, t.at = &c.Tools[i], fmt.Sprintf("/tools/%d", i)
		t.types = output.Tool{Name: t.Name, Parameters: t.Parameters}.Types()
		if t.Input != nil {
			t.types = func(string) []string { return []string{"string"} }
		}
		var err error
		if t.arguments, err = c.argumentsOf(t); err != nil {
			return err
		}
		if err := c.b.Err(); err != nil {
			return &Error{t.at, err}
		}
	}
	return nil
}

// argumentsOf compiles the arguments of a tool in the way that the format writes them.
func (c *compiler) argumentsOf(t *tool) (part, error) {
	form := output.JSON
	if call := c.Format.Calls; call != nil && call.Call.Object == nil {
		form = call.Call.Arguments
	}
	if t.Input != nil {
		return c.input(t, form)
	}
	switch form {
	case output.XML:
		return c.params(t)
	case output.Python:
		return c.python(t)
	case output.Bare:
		return c.bare(t)
	}
	return c.json(t)
}

// json is arguments as a JSON object.
func (c *compiler) json(t *tool) (part, error) {
	s, omissions, err := jsonschema.Compile(c.b, t.schema(), c.schemaOptions(t))
	c.leaveOut(t, omissions)
	return c.sym(s), c.aboutSchema(t, err)
}

// aboutSchema is the error of a tool's schema. A bound that was hit is not the schema's fault alone.
func (c *compiler) aboutSchema(t *tool, err error) error {
	if err != nil && c.b.Err() != nil {
		err = c.b.Err()
	}
	return place(t.at+"/parameters", err)
}

// schema is the schema of a tool's arguments.
func (t *tool) schema() []byte {
	if t.Parameters == nil {
		return []byte("true")
	}
	return t.Parameters
}

func (c *compiler) schemaOptions(t *tool) jsonschema.Options {
	return jsonschema.Options{Lenient: !t.Strict, Objects: true, Steps: &c.steps}
}

func (c *compiler) leaveOut(t *tool, list []jsonschema.Omission) {
	for _, one := range list {
		c.omitted = append(c.omitted, Omission{t.at + "/parameters" + one.Pointer, one.Keyword})
	}
}

func place(at string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{at, err}
}
