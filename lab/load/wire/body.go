package wire

import (
	"encoding/json"
	"fmt"
	"maps"
)

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

// Frame is the common part of all bodies of a run. Make it with NewFrame.
type Frame struct {
	common map[string]any
	extra  map[string]json.RawMessage
}

// FrameOptions are the parameters of every request. The temperature is 0, so that
// equal runs have equal answers if the server can do that.
type FrameOptions struct {
	Model     string // empty leaves it out
	Stream    bool
	Usage     bool // ask a stream to end with the count of tokens
	IgnoreEOS bool
	Extra     json.RawMessage // members that replace those of the same name; null removes one
}

// NewFrame fails if Extra is not a JSON object.
func NewFrame(o FrameOptions) (*Frame, error) {
	f := &Frame{common: map[string]any{"temperature": 0, "stream": o.Stream}}
	if len(o.Extra) > 0 {
		if err := json.Unmarshal(o.Extra, &f.extra); err != nil || f.extra == nil {
			return nil, fmt.Errorf(`the extra body %.80q is not a JSON object, for example {"top_k":1}`, o.Extra)
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
	return f, nil
}

func (f *Frame) Write(b *Body) []byte {
	members := maps.Clone(f.common)
	_, prompt := f.extra["prompt"]
	_, messages := f.extra["messages"]
	switch {
	case prompt || messages:
	case b.Messages != nil:
		members["messages"] = b.Messages
	case b.IDs != nil:
		members["prompt"] = b.IDs
	default:
		members["prompt"] = b.Text
	}
	if b.MaxTokens > 0 {
		members["max_tokens"] = b.MaxTokens
	}
	if len(b.Stop) > 0 {
		members["stop"] = b.Stop
	}
	for name, value := range f.extra {
		members[name] = value
		if string(value) == "null" {
			delete(members, name)
		}
	}
	text, _ := json.Marshal(members) // strings, numbers and JSON that was read before
	return text
}
