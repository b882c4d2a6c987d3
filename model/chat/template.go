package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/model/chat/jinja"
)

// Template is a parsed chat template.
type Template struct{ t *jinja.Template }

// Limits bound one rendering; zero fields take the defaults.
type Limits = jinja.Limits

// Error is every failure of Parse and Render but the context's own; it names
// template, line and kind.
type Error = jinja.Error

// RaisedError is the template's own refusal of a conversation by
// raise_exception, meant for the client. Find it with errors.As.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }

// Parse reads a template. name is for error messages only. The error names the
// line and what is wrong there.
func Parse(name, source string) (*Template, error) {
	t, err := jinja.Parse(name, source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{t}, nil
}

// Input is what a template sees. Messages and Tools are values of DecodeJSON,
// or any Go values that have a JSON form; they are read only.
type Input struct {
	Messages any
	// Tools nil leaves the variable undefined; put a nil "tools" into Extra for
	// None.
	Tools               any
	AddGenerationPrompt bool
	BOS, EOS            string // the tokens' text; "" is an empty text, not undefined
	// Now is what strftime_now shows.
	Now time.Time
	// Extra holds further variables such as enable_thinking, documents or
	// pad_token. They win over those above, as transformers' keyword arguments
	// do for tokens.
	Extra  map[string]any
	Limits Limits
}

// Render makes the prompt. A refusal by the template is a *RaisedError within
// the error; a cancelled ctx ends a long rendering with the context's error.
func (t *Template) Render(ctx context.Context, in Input) (string, error) {
	vars := make(map[string]any, 8+len(in.Extra))
	vars["messages"] = in.Messages
	if in.Tools != nil {
		vars["tools"] = in.Tools
	}
	vars["add_generation_prompt"] = in.AddGenerationPrompt
	vars["bos_token"] = in.BOS
	vars["eos_token"] = in.EOS
	vars["raise_exception"] = raiseException
	vars["strftime_now"] = jinja.Function(func(a *jinja.Args) (any, error) {
		v, err := a.Bind("strftime_now", "format")
		if err != nil {
			return nil, err
		}
		format, ok := v[0].(string)
		if !ok {
			return nil, fmt.Errorf("strftime_now: the format must be a string")
		}
		return strftime(in.Now, format), nil
	})
	for k, v := range in.Extra {
		vars[k] = v
	}
	return t.t.Render(ctx, in.Limits, vars)
}

var raiseException = jinja.Function(func(a *jinja.Args) (any, error) {
	v, err := a.Bind("raise_exception", "message")
	if err != nil {
		return nil, err
	}
	return nil, &RaisedError{Message: jinja.Text(v[0])}
})

// DecodeJSON reads one JSON value so that templates see it as the client wrote
// it: keys in order, integers as integers. The error names what and where.
func DecodeJSON(data []byte) (any, error) { return jinja.DecodeJSON(data) }
