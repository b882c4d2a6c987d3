// Package hf translates a GGUF file into the terms of a Hugging Face model:
// configuration, tensors, tokenizer. Tensors get the names and the order of rows
// of the model that the file was converted from.
//
// The architectures are llama (also Mistral's models), qwen2 and qwen3. Features that are
// not implemented are refused with the name of the key or tensor, as in package config.
package hf

import "github.com/troupe-engine/troupe/model/gguf"

// architecture is a value of general.architecture, with the Hugging Face name.
type architecture struct {
	name, class string
	// paired: the converter has put the two elements that rope turns together
	// side by side, in the rows of Q and K.
	paired bool
}

var architectures = []architecture{
	{"llama", "LlamaForCausalLM", true},
	{"qwen2", "Qwen2ForCausalLM", false},
	{"qwen3", "Qwen3ForCausalLM", false},
}

// architectureOf finds a file's.
func architectureOf(f *gguf.File) (a architecture, err error) {
	const key = "general.architecture"
	r := &reader{f: f}
	name, known := r.text(key), ""
	for _, a := range architectures {
		if a.name == name {
			return a, nil
		}
		known += ", " + a.name
	}
	if name == "" {
		r.fail("%s is missing; the file is not a model or is damaged; download it again", key)
	}
	r.fail("%s is %q, which is not supported; supported: %s", key, name, known[2:])
	return a, r.err
}
