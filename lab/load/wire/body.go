package wire

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Message is one of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Body is the body of a request. Exactly one of Messages, IDs and Text is set;
// Messages go to /v1/chat/completions, the others to /v1/completions.
type Body struct {
	Messages  []Message
	IDs       []int32
	Text      string
	MaxTokens int
	Stop      []string
}

// Frame is what all bodies of a run have in common. Make it with NewFrame.
type Frame struct {
	common map[string]any
	extra  map[string]json.RawMessage
}

// FrameOptions are the parameters of every request. Temperature is 0, so that
// equal runs give equal answers if the server can.
type FrameOptions struct {
	Model     string // empty leaves it out
	Stream    bool
	Usage     bool // ask a stream to end with the count of tokens
	IgnoreEOS bool
	// Extra members replace those of the same name; null removes one.
	Extra json.RawMessage
}

// NewFrame fails if Extra is not a JSON object.
func NewFrame(o FrameOptions) (*Frame, error) {
	f := &Frame{common: map[string]any{"temperature": 0, "stream": o.Stream}}
	if len(o.Extra) > 0 {
		if err := json.Unmarshal(o.Extra, &f.extra); err != nil || f.extra == nil {
			return nil, fmt.Errorf(`the extra body %.80q is not a JSON object such as {"top_k":1}`, o.Extra)
		}
	}
	if o.Model != "" {
		f.common["model"] = o.Model
	}
	if o.Stream && o.Usage {
		f.common["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	if o.IgnoreEOS {
		f.common["ignore_eos"] = true
	}
	for name, value := range f.extra {
		f.common[name] = value
		if string(value) == "null" {
			delete(f.common, name)
		}
	}
	return f, nil
}

// Write gives the bytes of a body.
func (f *Frame) Write(b *Body) []byte {
	members := maps.Clone(f.common)
	set := func(name string, value any) {
		if _, replaced := f.extra[name]; !replaced {
			members[name] = value
		}
	}
	_, prompt := f.extra["prompt"]
	_, messages := f.extra["messages"]
	switch {
	case prompt || messages:
	case b.Messages != nil:
		set("messages", b.Messages)
	case b.IDs != nil:
		set("prompt", b.IDs)
	default:
		set("prompt", b.Text)
	}
	if b.MaxTokens > 0 {
		set("max_tokens", b.MaxTokens)
	}
	if len(b.Stop) > 0 {
		set("stop", b.Stop)
	}
	text, _ := json.Marshal(members) // strings, numbers and JSON that was read before
	return text
}
