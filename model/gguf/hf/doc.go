// Package hf says what a GGUF file means in the terms of the Hugging Face model
// that it was converted from: its configuration, its tensors under their
// names there with rows in their order, and its tokenizer.
//
// The architectures are llama (Mistral's models are of it too), qwen2 and
// qwen3. What the file states beyond what is implemented is refused by the
// name of its key or tensor, in the way of package config.
package hf

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/gguf"
)

// architectures are the values of general.architecture, with the Hugging Face
// names.
var architectures = []struct {
	name, class string
	// paired: the converter has put the two elements that rope turns together
	// side by side, in the rows of Q and K.
	paired bool
}{
	{"llama", "LlamaForCausalLM", true},
	{"qwen2", "Qwen2ForCausalLM", false},
	{"qwen3", "Qwen3ForCausalLM", false},
}

// architecture finds the index of a file's in architectures.
func architecture(f *gguf.File) (int, error) {
	const key = "general.architecture"
	var known []string
	name, err := text(f, key)
	if err != nil {
		return 0, err
	}
	for i, a := range architectures {
		if a.name == name {
			return i, nil
		}
		known = append(known, a.name)
	}
	if name == "" {
		return 0, fmt.Errorf("%s: %s is missing; this is no model, or the file is damaged, fetch it again", f.Name, key)
	}
	return 0, fmt.Errorf("%s: %s is %q, which is not implemented; known are %s", f.Name, key, name, strings.Join(known, ", "))
}

// text is a string of the metadata, empty where it is not there.
func text(f *gguf.File, key string) (string, error) {
	v, ok := f.Value(key)
	if !ok {
		return "", nil
	}
	s, ok := v.Text()
	if !ok {
		return "", wrongKind(f, key, v, "a string")
	}
	return strings.ToValidUTF8(s, "\uFFFD"), nil
}

func wrongKind(f *gguf.File, key string, v gguf.Value, want string) error {
	return fmt.Errorf("%s: byte %d: %s is %s; it must be %s; use the model's original file", f.Name, v.At, key, v, want)
}
