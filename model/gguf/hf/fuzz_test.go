package hf_test

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// FuzzModel: whatever a file says, there is an error or a model whose tensors
// can be had.
func FuzzModel(f *testing.F) {
	for _, arch := range []string{"llama", "qwen2", "qwen3"} {
		m := ggufwrite.Model{Arch: arch, Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 20, Context: 8, Type: gpu.Q4_0}
		file := with(m.File(), "tokenizer.chat_template", "x", "tokenizer.ggml.bos_token_id", uint32(1), arch+".rope.scaling.type", "linear", arch+".rope.scaling.factor", float32(2))
		var b bytes.Buffer
		if err := ggufwrite.Write(&b, file); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	var b bytes.Buffer
	pieces := ggufwrite.Keys("general.architecture", "llama", "tokenizer.ggml.model", "llama", "tokenizer.ggml.tokens", []string{"<unk>", "<s>", "</s>", "a", "aa"},
		"tokenizer.ggml.scores", []float32{0, 0, 0, -1, -2}, "tokenizer.ggml.token_type", []int32{2, 3, 3, 1, 1})
	if err := ggufwrite.Write(&b, ggufwrite.File{Keys: pieces}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Open(fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf")
		if err != nil {
			return
		}
		defer file.Close()
		if tok, err := hf.Tokenizer(file); err == nil {
			tok.Decode(tok.Encode("aa b", tokenizer.EncodeOptions{AddSpecial: true}), tokenizer.DecodeOptions{})
		}
		c, err := hf.Config(file, config.Options{})
		if err != nil {
			return
		}
		w, err := hf.Weights(file, c)
		if err != nil {
			return
		}
		defer w.Close()
		for _, name := range w.Names() {
			x, err := w.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			if info, _ := w.Info(name); int64(len(x.Data)) != info.Bytes {
				t.Errorf("%s has %d bytes, want %d", name, len(x.Data), info.Bytes)
			}
		}
	})
}
