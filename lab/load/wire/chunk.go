package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/troupe-engine/troupe/internal/jsonread"
)

type Usage struct {
	Prompt, Completion int
	Cached             int // of the prompt, found in the server's cache
}

// Chunk is what a measurement needs of an answer or an event. Read reuses its slices.
type Chunk struct {
	HasChoice bool   // there is a choice, perhaps without text
	Text      []byte // of the first choice, without reasoning
	Reasoning []byte // of the first choice
	ToolCall  bool   // the choice brings a part of a tool call
	Finish    []byte // why the choice ended; empty while it goes on
	HasUsage  bool
	Usage     Usage
	HasError  bool
	Error     []byte // the server's message

	r *jsonread.Reader
}

// ErrChunk is an answer that is not a JSON object of the API.
var ErrChunk = errors.New("the server's response cannot be read")

// Brings reports whether the chunk brings output: text, reasoning or a tool call.
func (k *Chunk) Brings() bool { return len(k.Text) > 0 || len(k.Reasoning) > 0 || k.ToolCall }

// Read reads the body of an answer or the data of one event. Unknown members are skipped.
func (k *Chunk) Read(data []byte) error {
	*k = Chunk{Text: k.Text[:0], Reasoning: k.Reasoning[:0], Finish: k.Finish[:0], Error: k.Error[:0], r: k.r}
	if k.r == nil {
		k.r = &jsonread.Reader{}
	}
	r := k.r
	r.Reset(data)
	isError, message := false, k.Error // an older form: {"object":"error","message":"…"}
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "choices":
			return k.choices()
		case "usage":
			return k.usage()
		case "error":
			return k.error()
		case "object":
			value, err := r.Raw()
			isError = string(value) == `"error"`
			return err
		case "message":
			message, err = k.text(message)
			return err
		}
		return r.Skip()
	})
	if isError && !k.HasError {
		k.HasError, k.Error = true, message
	}
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return fmt.Errorf("%w (%w): %.120q", ErrChunk, err, data)
	}
	return nil
}

// text reads a string over dst; another value, such as null, leaves it empty.
func (k *Chunk) text(dst []byte) ([]byte, error) {
	if k.r.Kind() != '"' {
		return dst[:0], k.r.Skip()
	}
	return k.r.AppendText(dst[:0])
}

// object reads an object; null is an empty one.
func (k *Chunk) object(member func(key []byte) error) error {
	if k.r.Kind() == 'n' {
		return k.r.Skip()
	}
	return k.r.Object(member)
}

// choices reads the first choice: a measurement asks for one.
func (k *Chunk) choices() error {
	if k.r.Kind() == 'n' {
		return k.r.Skip()
	}
	k.HasChoice, k.Text, k.Reasoning, k.Finish = false, k.Text[:0], k.Reasoning[:0], k.Finish[:0]
	return k.r.Array(func() error {
		if k.HasChoice || k.r.Kind() != '{' {
			return k.r.Skip()
		}
		k.HasChoice = true
		return k.r.Object(func(key []byte) (err error) {
			switch string(key) {
			case "text":
				k.Text, err = k.text(k.Text)
			case "delta", "message":
				err = k.object(k.message)
			case "finish_reason":
				k.Finish, err = k.text(k.Finish)
			default:
				err = k.r.Skip()
			}
			return err
		})
	})
}

// message reads a member of a chat's message or delta.
func (k *Chunk) message(key []byte) (err error) {
	switch string(key) {
	case "content":
		k.Text, err = k.text(k.Text)
	case "reasoning_content", "reasoning":
		k.Reasoning, err = k.text(k.Reasoning)
	case "tool_calls":
		var calls []byte
		calls, err = k.r.Raw()
		k.ToolCall = len(calls) > 0 && calls[0] == '[' && len(bytes.Trim(calls, "[] \t\r\n")) > 0
	default:
		err = k.r.Skip()
	}
	return err
}

func (k *Chunk) usage() error {
	if k.r.Kind() == 'n' {
		return k.r.Skip()
	}
	k.HasUsage, k.Usage = true, Usage{}
	return k.r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "prompt_tokens":
			k.Usage.Prompt, err = k.count()
		case "completion_tokens":
			k.Usage.Completion, err = k.count()
		case "prompt_tokens_details":
			err = k.object(func(key []byte) (err error) {
				if string(key) != "cached_tokens" {
					return k.r.Skip()
				}
				k.Usage.Cached, err = k.count()
				return err
			})
		default:
			err = k.r.Skip()
		}
		return err
	})
}

// count reads a whole number from 0 on, also one written as 12.0; null is 0.
func (k *Chunk) count() (int, error) {
	value, err := k.r.Raw()
	if err != nil || string(value) == "null" {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(f >= 0 && f <= 1<<50) {
		return 0, fmt.Errorf(`"usage" has %.40s, which is not a number of tokens`, value)
	}
	return int(f), nil
}

// error reads {"error":{"message":"…"}} and {"error":"…"}.
func (k *Chunk) error() (err error) {
	switch k.r.Kind() {
	case 'n':
		return k.r.Skip()
	case '{':
		k.Error = k.Error[:0]
		err = k.r.Object(func(key []byte) (err error) {
			if string(key) != "message" {
				return k.r.Skip()
			}
			k.Error, err = k.text(k.Error)
			return err
		})
	default:
		k.Error, err = k.text(k.Error)
	}
	k.HasError = true
	return err
}
