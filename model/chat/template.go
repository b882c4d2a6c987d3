// Package chat turns conversations into prompts with a model's chat template, as
// apply_chat_template of Hugging Face's transformers does.
//
// Parse once, Render often: a Template is immutable and safe for concurrent
// use. Templates and messages are not trusted; package jinja has the bounds. The
// caller passes the time, so the same Input always gives the same prompt.
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/model/chat/jinja"
)

type Template struct {
	t      *jinja.Template
	source string
}

// Error is every failure of Parse and Render but that of a cancelled context. It
// names template, line and kind.
type Error = jinja.Error

// LengthError, the cause of an Error, says that the prompt or a text in it is
// longer than Input.MaxBytes. Find it with errors.As.
type LengthError = jinja.LengthError

// ReservedError refuses a variable of Input.Extra that Render sets itself.
type ReservedError struct{ Name string }

func (e *ReservedError) Error() string {
	return fmt.Sprintf("%s is set by the server and cannot be replaced; leave it out", e.Name)
}

// own are the variables that Render sets itself.
var own = map[string]bool{"messages": true, "tools": true, "add_generation_prompt": true, "bos_token": true,
	"eos_token": true, "raise_exception": true, "strftime_now": true}

// Reserved reports whether Input.Extra may not have a variable: Render or Jinja sets it.
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

// Parse reads a template; name is for errors only, which have the line and the problem.
func Parse(name, source string) (*Template, error) {
	t, err := jinja.Parse(name, source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{t, source}, nil
}

// HasVariable reports whether the template reads a variable, such as one that Input.Extra
// may set. Attributes and words in texts do not count.
func (t *Template) HasVariable(name string) bool { return t.t.Names(name) }

// Mentions reports whether a word is in the template's text, such as the name of an attribute.
// A word in a text or comment of the template counts, too.
func (t *Template) Mentions(word string) bool {
	for rest := t.source; ; {
		at := strings.Index(rest, word)
		if at < 0 {
			return false
		}
		end := at + len(word)
		if !wordByte(rest, at-1) && !wordByte(rest, end) {
			return true
		}
		rest = rest[end:]
	}
}

// Contains reports whether a text is in the template's source, such as a mark that it writes.
func (t *Template) Contains(text string) bool { return strings.Contains(t.source, text) }

// wordByte reports whether the byte at an index belongs to a name.
func wordByte(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Input holds the variables of a template. Messages and Tools are values of DecodeJSON,
// or any Go values that have a JSON form; they are read only.
type Input struct {
	Messages any
	// Tools nil leaves the variable undefined, None makes it None.
	Tools               any
	AddGenerationPrompt bool
	BOS, EOS            string // the tokens' text; "" is an empty text, not undefined
	// Now is the time that strftime_now formats.
	Now time.Time
	// Extra holds further variables such as enable_thinking, documents or
	// pad_token. Render refuses those that are Reserved.
	Extra map[string]any
	// MaxBytes bounds the prompt, and every text in Messages, Tools and Extra that the
	// template touches (with Follow: every one), hard. Beyond it rendering ends with a
	// LengthError. 0, and more than jinja.DefaultOutput, mean jinja.DefaultOutput.
	MaxBytes int
	// Follow are the characters that RenderFollowed follows, at most 32.
	Follow []rune
}

// Prompt is the result of RenderFollowed. Its Client are ranges of the text in
// which every character of Input.Follow comes from Messages, Tools or Extra.
type Prompt = jinja.Rendered

// Render makes the prompt. A refusal by the template is a *RaisedError within
// the error; a cancelled ctx ends a long rendering with the context's error.
func (t *Template) Render(ctx context.Context, in Input) (string, error) {
	in.Follow = nil
	p, err := t.RenderFollowed(ctx, in)
	return p.Text, err
}

// RenderFollowed is Render that also returns which characters are the client's,
// even if the template cuts and joins texts.
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
	vars := map[string]any{
		"add_generation_prompt": in.AddGenerationPrompt,
		"bos_token":             in.BOS,
		"eos_token":             in.EOS,
		"raise_exception":       raiseException,
		"strftime_now": jinja.NewFunction("strftime_now", "format", func(args []any, _ func(any) string) (any, error) {
			format, ok := args[0].(string)
			if !ok {
				return nil, errors.New("strftime_now: the format must be a string")
			}
			return strftime(in.Now, format), nil
		}),
	}
	return t.t.RenderMarked(ctx, jinja.Limits{OutputBytes: min(in.MaxBytes, jinja.DefaultOutput)}, vars, client, in.Follow)
}

var raiseException = jinja.NewFunction("raise_exception", "message", func(args []any, text func(any) string) (any, error) {
	return nil, &RaisedError{Message: text(args[0])}
})

// Builder makes template values of JSON: keys in order, integers as integers.
var Builder = jinja.Builder

// DecodeJSON reads one JSON value with Builder. The error names problem and place.
func DecodeJSON(data []byte) (any, error) { return jinja.DecodeJSON(data) }

// List and Dict are the arrays and objects among the values of DecodeJSON.
type (
	List = jinja.List
	Dict = jinja.Dict
)

// NewDict makes an empty Dict with room for n keys.
func NewDict(n int) *Dict { return jinja.NewDict(n) }

// NewList makes a List, which owns the items from now on.
func NewList(items []any) *List { return jinja.NewList(items) }
