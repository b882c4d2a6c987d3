package model

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Texts are the files of a model's tokenizer and chat templates, by their path in the
// model's directory. Those of a GGUF file are one GGUF file without tensors. They do not
// depend on the place of the model, and have no other part of it.
type Texts map[string][]byte

// ggufTexts is the only file of the Texts of a GGUF file.
const ggufTexts = "tokenizer" + GGUFExtension

// jinjaFile has the chat template of a directory; if it is not there, tokenizer_config.json.
const jinjaFile = "chat_template.jinja"

// Texts reads the files from which Tokenizer makes the tokenizer.
func (f Files) Texts() (_ Texts, err error) {
	defer f.locate(&err)
	if f.gguf == "" {
		if err := f.onlyGGUF(); err != nil {
			return nil, err
		}
		return tokenizer.ReadFS(f.fsys)
	}
	file, err := gguf.Open(f.fsys, f.gguf)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Texts{ggufTexts: hf.TokenizerFile(file)}, nil
}

// Tokenizer makes the tokenizer and chat templates that Files.Tokenizer makes of the whole
// model. The texts may be of any origin.
func (t Texts) Tokenizer() (*tokenizer.Tokenizer, error) {
	data, ok := t[ggufTexts]
	if !ok {
		return tokenizer.Load(t)
	}
	if len(t) > 1 {
		return nil, fmt.Errorf("there are files beside %s; use those of one model", ggufTexts)
	}
	file, err := gguf.Read(ggufTexts, data)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return hf.Tokenizer(file)
}

// ChatTemplate is Files.ChatTemplate for a model of that name.
func (t Texts) ChatTemplate(name string) string {
	if _, ok := t[ggufTexts]; ok {
		return name + ggufTemplate
	}
	_, own := t[jinjaFile]
	return name + "/" + templateFile(own)
}

const ggufTemplate = " (tokenizer.chat_template)"

// templateFile returns the file with the chat template of a directory; own says whether
// the template has a file of its own.
func templateFile(own bool) string {
	if own {
		return jinjaFile
	}
	return "tokenizer_config.json"
}
