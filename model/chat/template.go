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

// LengthError, the cause of an Error, says that the prompt or a text in it is
// longer than Input.MaxBytes. Find it with errors.As.
type LengthError = jinja.LengthError

// ReservedError refuses a variable of Input.Extra that Render sets itself.
type ReservedError struct{ Name string }

func (e *ReservedError) Error() string {
	return fmt.Sprintf("%s is set by the server and cannot be replaced; leave it out", e.Name)
}

// own are the variables that Render sets.
var own = map[string]bool{"messages": true, "tools": true, "add_generation_prompt": true, "bos_token": true,
	"eos_token": true, "raise_exception": true, "strftime_now": true}

// Reserved reports whether Input.Extra may not have a variable: Render or the
// template language sets it.
func Reserved(name string) bool { return own[name] || jinja.IsGlobal(name) }

// None as Input.Tools makes the variable None; nil leaves it undefined.
var None any = none{}

type none struct{}

// RaisedError is the template's own refusal of a conversation by
// raise_exception, meant for the client. Find it with errors.As.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }

// Rewrite implements jinja.Rewriter.
func (e *RaisedError) Rewrite(text func(string) string) { e.Message = text(e.Message) }

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
	// Tools nil leaves the variable undefined, None makes it None.
	Tools               any
	AddGenerationPrompt bool
	BOS, EOS            string // the tokens' text; "" is an empty text, not undefined
	// Now is what strftime_now shows.
	Now time.Time
	// Extra holds further variables such as enable_thinking, documents or
	// pad_token. Render refuses those that are Reserved.
	Extra map[string]any
	// MaxBytes bounds the prompt, and every text in Messages, Tools and Extra
	// that the template touches (with Follow: every one), hard. Beyond it
	// rendering ends with a LengthError. 0, and more than Limits.OutputBytes,
	// mean Limits.OutputBytes.
	MaxBytes int
	// Follow are characters that are followed through the template, for
	// RenderFollowed; at most 32.
	Follow []rune
	Limits Limits
}

// Prompt is what RenderFollowed makes.
type Prompt struct {
	Text string
	// Client are ranges [start, end) of bytes of Text, in order. Every
	// character of Input.Follow in one comes from Messages, Tools or Extra, and
	// every one outside from the template. What lies between two of them may be
	// either.
	Client [][2]int
}

// Render makes the prompt. A refusal by the template is a *RaisedError within
// the error; a cancelled ctx ends a long rendering with the context's error.
func (t *Template) Render(ctx context.Context, in Input) (string, error) {
	in.Follow = nil
	p, err := t.RenderFollowed(ctx, in)
	return p.Text, err
}

// RenderFollowed is Render that tells the client's characters from the
// template's, whatever the template cuts out of texts or joins.
func (t *Template) RenderFollowed(ctx context.Context, in Input) (Prompt, error) {
	client := make(map[string]any, 2+len(in.Extra))
	for k, v := range in.Extra {
		if Reserved(k) {
			return Prompt{}, &ReservedError{k}
		}
		client[k] = v
	}
	client["messages"] = in.Messages
	if in.Tools == None {
		client["tools"] = nil
	} else if in.Tools != nil {
		client["tools"] = in.Tools
	}
	vars := make(map[string]any, 5)
	vars["add_generation_prompt"] = in.AddGenerationPrompt
	vars["bos_token"] = in.BOS
	vars["eos_token"] = in.EOS
	vars["raise_exception"] = raiseException
	vars["strftime_now"] = jinja.NewFunction("strftime_now", "format", func(args []any) (any, error) {
		format, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("strftime_now: the format must be a string")
		}
		return strftime(in.Now, format), nil
	})
	limits := in.Limits.Bounded(in.MaxBytes)
	p, err := t.t.RenderMarked(ctx, limits, vars, client, in.Follow)
	return Prompt(p), err
}

var raiseException = jinja.NewFunction("raise_exception", "message", func(args []any) (any, error) {
	return nil, &RaisedError{Message: jinja.Text(args[0])}
})

// Builder makes of JSON what templates see: keys in order, integers as integers.
var Builder = jinja.Builder

// DecodeJSON reads one JSON value with Builder. The error says what is wrong and
// where.
func DecodeJSON(data []byte) (any, error) { return jinja.DecodeJSON(data) }

// List and Dict are the arrays and objects among the values of DecodeJSON.
type (
	List = jinja.List
	Dict = jinja.Dict
)
