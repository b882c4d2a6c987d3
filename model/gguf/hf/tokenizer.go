package hf

import (
	"fmt"
	"math"
	"strings"

	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

const template = "tokenizer.chat_template"

// Tokenizer reads a file's tokenizer and chat templates.
func Tokenizer(f *gguf.File) (*tokenizer.Tokenizer, error) {
	r := &reader{f: f}
	v := tokenizer.Vocabulary{
		Model: r.text(ggml + "model"), Pre: r.text(ggml + "pre"), Types: r.types(ggml + "token_type"),
		AddBOS: r.boolean(ggml + "add_bos_token"), AddEOS: r.boolean(ggml + "add_eos_token"), AddSpacePrefix: r.boolean(ggml + "add_space_prefix"),
		BOS: r.tokenID("bos_token_id", 1), EOS: r.tokenID("eos_token_id", 2), Unknown: r.tokenID("unknown_token_id", 0),
		Templates: r.templates(),
	}
	v.Tokens, _ = value(r, ggml+"tokens", "a list of strings", gguf.Value.Texts)
	v.Merges, _ = value(r, ggml+"merges", "a list of strings", gguf.Value.Texts)
	v.Scores, _ = value(r, ggml+"scores", "a list of numbers", gguf.Value.Floats)
	if r.err != nil {
		return nil, r.err
	}
	t, err := tokenizer.FromVocabulary(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return t, nil
}

// TokenizerFile returns a GGUF file that has what Tokenizer reads of f and no tensors.
func TokenizerFile(f *gguf.File) []byte {
	return f.Metadata(func(key string) bool {
		_, named := templateName(key)
		return named || strings.HasPrefix(key, ggml)
	})
}

func (r *reader) types(key string) []tokenizer.TokenType {
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

func (r *reader) tokenID(name string, usual int64) int32 {
	return int32(min(r.id(name, usual), math.MaxInt32))
}

// templates are the one without a name and those with one.
func (r *reader) templates() map[string]string {
	all := map[string]string{}
	for _, key := range r.f.Keys() {
		if name, ok := templateName(key); ok {
			all[name] = r.text(key)
		}
	}
	return all
}

// templateName returns the name of the chat template that a key has.
func templateName(key string) (name string, ok bool) {
	if key == template {
		return "default", true
	}
	return strings.CutPrefix(key, template+".")
}
