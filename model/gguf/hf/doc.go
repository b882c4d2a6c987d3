// Package hf translates a GGUF file into the terms of a Hugging Face model:
// configuration, tensors, tokenizer. Tensors get the names and the order of rows
// of the model that the file was converted from.
//
// The architectures are llama (also Mistral's models), qwen2 and qwen3. Features
// that are not implemented are refused with the name of the key or tensor, as in
// package config.
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
		return 0, fmt.Errorf("%s: %s is missing; the file is not a model or is damaged; download it again", f.Name, key)
	}
	return 0, fmt.Errorf("%s: %s is %q, which is not supported; supported: %s", f.Name, key, name, strings.Join(known, ", "))
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
