// Package bundled holds Troupe's embedded model, so that the first run needs no download.
//
// It is a Llama (1.9 million parameters in BF16, 6 layers, 6 query and 2 KV heads of 32,
// context 1024, byte-level BPE with 1280 tokens) in the layout of a Hugging Face
// directory, and is loaded by the same code as any other. It was trained from a fixed
// seed by tools/train-bundled/train.py on stories and dialogues that tools/train-bundled/data.py generates;
// tools/train-bundled/README.md has the figures. It tells short stories, knows simple facts and says
// so when it does not know more. SHA256SUMS holds the hash of the weights.
package bundled

import (
	"embed"
	"io/fs"
)

// Name is the model's name in listings and answers.
const Name = "troupe-little"

//go:embed config.json generation_config.json tokenizer.json tokenizer_config.json chat_template.jinja model.safetensors SHA256SUMS
var files embed.FS

// FS returns the model directory: config.json, model.safetensors and the tokenizer files
// at its root. It is read-only and may be shared.
func FS() fs.FS { return files }
