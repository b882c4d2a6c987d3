package wire

import (
	"bytes"
	"errors"
	"fmt"
)

// Usage is a server's own count of tokens.
type Usage struct {
	Prompt, Completion int
	Cached             int  // of the prompt, found in the server's cache
	TellsCached        bool // the server says how many were found
}

// Chunk is what a measurement takes from an answer, or from one event of a
// streamed answer. Its slices are reused by the next Read.
type Chunk struct {
	HasChoice bool   // there is a choice, which may bring no text
	Text      []byte // of the first choice: what a conversation goes on with
	Reasoning []byte // of the first choice: what a model thinks aloud
	ToolCall  bool   // the choice brings a part of a tool call
	Finish    []byte // why the choice ended; empty while it goes on
	HasUsage  bool
	Usage     Usage
	HasError  bool
	Error     []byte // the server's message

	c cursor
}

// ErrChunk is an answer that is no JSON object of the API.
var ErrChunk = errors.New("the server's answer cannot be read")

// Brings tells whether the chunk brings output: text, thoughts or a tool call.
func (k *Chunk) Brings() bool { return len(k.Text) > 0 || len(k.Reasoning) > 0 || k.ToolCall }

// Read takes the body of an answer or the data of one event. Unknown members
// are passed over.
func (k *Chunk) Read(data []byte) error {
	*k = Chunk{Text: k.Text[:0], Reasoning: k.Reasoning[:0], Finish: k.Finish[:0], Error: k.Error[:0],
		c: cursor{b: data, names: k.c.names}}
	c := &k.c
	isError, message := false, k.Error // an older form: {"object":"error","message":"…"}
	for more := c.open('{'); more; more = c.more('}') {
		switch string(c.key()) {
		case "choices":
			k.choices()
		case "usage":
			k.usage()
		case "error":
			k.error()
		case "object":
			isError = k.word("error")
		case "message":
			if c.peek() != '"' {
				c.skip()
				continue
			}
			message = c.text(message[:0])
		default:
			c.skip()
		}
	}
	if isError && !k.HasError {
		k.HasError, k.Error = true, message
	}
	if c.peek(); c.bad || c.i < len(c.b) {
		return fmt.Errorf("%w: %.120q", ErrChunk, data)
	}
	return nil
}

// word reads a value and tells whether it is this string.
func (k *Chunk) word(want string) bool {
	start := k.c.i
	k.c.skip()
	value := bytes.TrimSpace(k.c.b[min(start, k.c.i):k.c.i])
	return len(value) == len(want)+2 && string(value[1:len(value)-1]) == want
}

// choices reads the first choice: a measurement asks for one.
func (k *Chunk) choices() {
	c := &k.c
	if c.null() {
		return
	}
	k.HasChoice, k.Text, k.Reasoning, k.Finish = false, k.Text[:0], k.Reasoning[:0], k.Finish[:0]
	for more := c.open('['); more; more = c.more(']') {
		if k.HasChoice || c.peek() != '{' {
			c.skip()
			continue
		}
		k.HasChoice = true
		for more := c.open('{'); more; more = c.more('}') {
			switch string(c.key()) {
			case "text":
				k.Text = k.string(k.Text)
			case "delta", "message":
				k.message()
			case "finish_reason":
				k.Finish = k.string(k.Finish)
			default:
				c.skip()
			}
		}
	}
}

// message reads what a chat's answer says.
func (k *Chunk) message() {
	c := &k.c
	if c.null() {
		return
	}
	for more := c.open('{'); more; more = c.more('}') {
		switch string(c.key()) {
		case "content":
			k.Text = k.string(k.Text)
		case "reasoning_content", "reasoning":
			k.Reasoning = k.string(k.Reasoning)
		case "tool_calls":
			c.peek()
			start := c.i
			c.skip()
			k.ToolCall = !c.bad && len(bytes.Trim(c.b[start:c.i], "[] \t\r\n")) > 0 && c.b[start] == '['
		default:
			c.skip()
		}
	}
}

// string reads a string over dst; what is none, such as null, leaves it empty.
func (k *Chunk) string(dst []byte) []byte {
	if k.c.peek() != '"' {
		k.c.skip()
		return dst[:0]
	}
	return k.c.text(dst[:0])
}

func (k *Chunk) usage() {
	c := &k.c
	if c.null() {
		return
	}
	k.HasUsage, k.Usage = true, Usage{}
	for more := c.open('{'); more; more = c.more('}') {
		switch string(c.key()) {
		case "prompt_tokens":
			k.Usage.Prompt = c.count()
		case "completion_tokens":
			k.Usage.Completion = c.count()
		case "prompt_tokens_details":
			if c.null() {
				continue
			}
			for more := c.open('{'); more; more = c.more('}') {
				if string(c.key()) != "cached_tokens" {
					c.skip()
					continue
				}
				k.Usage.TellsCached = c.peek() != 'n'
				k.Usage.Cached = c.count()
			}
		default:
			c.skip()
		}
	}
}

// error reads {"error":{"message":"…"}} and {"error":"…"}.
func (k *Chunk) error() {
	c := &k.c
	switch c.peek() {
	case 'n':
		c.word("null")
		return
	case '"':
		k.Error = c.text(k.Error[:0])
	case '{':
		k.Error = k.Error[:0]
		for more := c.open('{'); more; more = c.more('}') {
			if string(c.key()) == "message" {
				k.Error = k.string(k.Error)
			} else {
				c.skip()
			}
		}
	default:
		c.skip()
	}
	k.HasError = true
}
