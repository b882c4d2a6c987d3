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
