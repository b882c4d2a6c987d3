package hf

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

const (
	ggml     = "tokenizer.ggml."
	template = "tokenizer.chat_template"
)

// Tokenizer reads a file's tokenizer and chat templates.
func Tokenizer(f *gguf.File) (*tokenizer.Tokenizer, error) {
	r := &vocabulary{f: f}
	v := tokenizer.Vocabulary{
		Model: r.text(ggml + "model"), Pre: r.text(ggml + "pre"),
		Tokens: r.texts(ggml + "tokens"), Merges: r.texts(ggml + "merges"), Scores: r.floats(ggml + "scores"), Types: r.types(ggml + "token_type"),
		AddBOS: r.boolean(ggml + "add_bos_token"), AddEOS: r.boolean(ggml + "add_eos_token"), AddSpacePrefix: r.boolean(ggml + "add_space_prefix"),
		Templates: r.templates(),
	}
	usual := [3]int64{-1, -1, -1}
	if v.Model == "llama" {
		usual = [3]int64{1, 2, 0}
	}
	v.BOS, v.EOS, v.Unknown = r.id("bos_token_id", usual[0]), r.id("eos_token_id", usual[1]), r.id("unknown_token_id", usual[2])
	if r.err != nil {
		return nil, r.err
	}
	t, err := tokenizer.FromVocabulary(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return t, nil
}

// vocabulary reads typed values and keeps the first error.
type vocabulary struct {
	f   *gguf.File
	err error
}

// value looks a key up and asks get for it; what it must be is want.
func value[T any](r *vocabulary, key, want string, get func(gguf.Value) (T, bool)) (out T, found bool) {
	v, ok := r.f.Value(key)
	if !ok {
		return out, false
	}
	out, ok = get(v)
	if !ok && r.err == nil {
		r.err = wrongKind(r.f, key, v, want)
	}
	return out, ok
}

func (r *vocabulary) text(key string) string {
	s, _ := value(r, key, "a string", gguf.Value.Text)
	if !utf8.ValidString(s) && r.err == nil {
		r.err = fmt.Errorf("%s: %s is not UTF-8; download the file again", r.f.Name, key)
	}
	return s
}

func (r *vocabulary) texts(key string) []string {
	s, _ := value(r, key, "a list of strings", gguf.Value.Texts)
	return s
}

func (r *vocabulary) floats(key string) []float32 {
	s, _ := value(r, key, "a list of numbers", gguf.Value.Floats)
	return s
}

func (r *vocabulary) types(key string) []tokenizer.TokenType {
	list, ok := value(r, key, "a list of whole numbers", gguf.Value.Ints)
	if !ok {
		return nil
	}
	types := make([]tokenizer.TokenType, len(list))
	for i, n := range list {
		if n >= int64(tokenizer.TokenUndefined) && n <= int64(tokenizer.TokenByte) {
			types[i] = tokenizer.TokenType(n)
		}
	}
	return types
}

func (r *vocabulary) boolean(key string) *bool {
	b, ok := value(r, key, "true or false", gguf.Value.Bool)
	if !ok {
		return nil
	}
	return &b
}

func (r *vocabulary) id(key string, usual int64) int32 {
	n, ok := value(r, ggml+key, "a token id", gguf.Value.Int)
	if !ok {
		n = usual
	}
	if n < 0 || n == none {
		return -1
	}
	if n > 1<<31-1 {
		n = 1<<31 - 1
	}
	return int32(n)
}

// templates are the one without a name and those with one.
func (r *vocabulary) templates() map[string]string {
	all := map[string]string{}
	for _, key := range r.f.Keys() {
		name, ok := strings.CutPrefix(key, template)
		switch {
		case !ok:
		case name == "":
			all["default"] = r.text(key)
		case name[0] == '.':
			all[name[1:]] = r.text(key)
		}
	}
	return all
}
