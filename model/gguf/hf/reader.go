package hf

import (
	"fmt"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/gguf"
)

const ggml = "tokenizer.ggml."

// reader reads typed values of the metadata and keeps the first error.
type reader struct {
	f   *gguf.File
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.f.Name, fmt.Errorf(format, args...))
	}
}

// value returns the value of a key as get reads it; want describes that.
// found: the key is there and its value is of that kind.
func value[T any](r *reader, key, want string, get func(gguf.Value) (T, bool)) (out T, found bool) {
	v, ok := r.f.Value(key)
	if !ok {
		return out, false
	}
	if out, ok = get(v); !ok {
		r.fail("byte %d: %s is %s; it must be %s; use the model's original file", v.At, key, v, want)
	}
	return out, ok
}

// text returns a string, empty if the key is not there.
func (r *reader) text(key string) string {
	s, _ := value(r, key, "a string", gguf.Value.Text)
	if !utf8.ValidString(s) {
		r.fail("%s is not UTF-8; download it again", key)
	}
	return s
}

func (r *reader) sentencePiece() bool { return r.text(ggml+"model") == "llama" }

// none is what some writers put for a token that the model does not have.
const none = 1<<32 - 1

// id reads a special token, -1 for none. SentencePiece models have the usual
// one if the file does not name it.
func (r *reader) id(name string, usual int64) int64 {
	n, ok := value(r, ggml+name, "a token id", gguf.Value.Int)
	if !ok && r.sentencePiece() {
		n = usual
	}
	if !ok && !r.sentencePiece() || n < 0 || n == none {
		return -1
	}
	return n
}

func (r *reader) boolean(key string) *bool {
	b, ok := value(r, key, "true or false", gguf.Value.Bool)
	if !ok {
		return nil
	}
	return &b
}
