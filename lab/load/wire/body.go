package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Message is one of a chat.
type Message struct{ Role, Content string }

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
	settings []byte // members after the first, each with a comma before
	replaced map[string]bool
}

// FrameOptions say what every request asks for. Temperature is 0 in all of
// them: equal runs give equal answers, where the server lets them.
type FrameOptions struct {
	Model     string // empty leaves it out
	Stream    bool
	Usage     bool // ask a stream to end with the count of tokens
	IgnoreEOS bool
	// Extra members replace those of the same name; null removes one.
	Extra json.RawMessage
}

// NewFrame fails when Extra is no JSON object.
func NewFrame(o FrameOptions) (*Frame, error) {
	f := &Frame{replaced: map[string]bool{}}
	extra := map[string]json.RawMessage{}
	if len(o.Extra) > 0 {
		if err := json.Unmarshal(o.Extra, &extra); err != nil || extra == nil {
			return nil, fmt.Errorf(`the extra body is %.80q, want a JSON object such as {"top_k":1}`, o.Extra)
		}
	}
	member := func(name string, value any) {
		if f.replaced[name] {
			return
		}
		text, _ := json.Marshal(value) // strings, numbers, booleans and raw JSON
		f.settings = append(f.settings, fmt.Sprintf(",%q:%s", name, text)...)
	}
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if value := extra[name]; string(value) != "null" {
			member(name, value)
		}
		f.replaced[name] = true
	}
	if o.Model != "" {
		member("model", o.Model)
	}
	member("temperature", 0)
	member("stream", o.Stream)
	if o.Stream && o.Usage {
		member("stream_options", json.RawMessage(`{"include_usage":true}`))
	}
	if o.IgnoreEOS {
		member("ignore_eos", true)
	}
	return f, nil
}

// Append writes one body behind dst.
func (f *Frame) Append(dst []byte, b *Body) []byte {
	dst = append(dst, '{')
	switch {
	case f.replaced["prompt"] || f.replaced["messages"]:
		dst = append(dst, f.settings[1:]...)
	case b.Messages != nil:
		dst = append(dst, `"messages":[`...)
		for i, m := range b.Messages {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(append(dst, `{"role":`...), m.Role)
			dst = append(appendString(append(dst, `,"content":`...), m.Content), '}')
		}
		dst = append(append(dst, ']'), f.settings...)
	case b.IDs != nil:
		dst = append(dst, `"prompt":[`...)
		for i, id := range b.IDs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(id), 10)
		}
		dst = append(append(dst, ']'), f.settings...)
	default:
		dst = append(appendString(append(dst, `"prompt":`...), b.Text), f.settings...)
	}
	if b.MaxTokens > 0 && !f.replaced["max_tokens"] {
		dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(b.MaxTokens), 10)
	}
	if len(b.Stop) > 0 && !f.replaced["stop"] {
		stop, _ := json.Marshal(b.Stop)
		dst = append(append(dst, `,"stop":`...), stop...)
	}
	return append(dst, '}')
}

// appendString writes a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	s = strings.ToValidUTF8(s, "\uFFFD")
	dst = append(dst, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b == '\n':
			dst = append(dst, '\\', 'n')
		case b < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return append(dst, '"')
}
