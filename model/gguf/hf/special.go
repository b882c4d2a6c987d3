package hf

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// turnEnds are special tokens that end an answer in the model families that
// have them. Files name one or two of a model's ends, where Hugging Face's
// generation_config.json lists all.
var turnEnds = []string{
	"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", // Llama 3
	"<|im_end|>", "<|endoftext|>", // ChatML, Qwen
	"<|end|>", "<end_of_turn>", "<EOT>",
}

// tokens carries over what begins and ends a text.
func (k *keys) tokens() {
	var ends []int64
	for _, end := range []struct {
		name  string
		usual int64
	}{{"bos_token_id", 1}, {"eos_token_id", 2}, {"eot_token_id", -1}, {"eom_token_id", -1}} {
		k.out.Names[end.name] = ggml + end.name
		if id := k.id(end.name, end.usual); id >= 0 && end.name == "bos_token_id" {
			k.out.Values["bos_token_id"] = id
		} else if id >= 0 {
			ends = append(ends, id)
		}
	}
	vocab, _ := k.int("vocab_size")
	k.out.Values["eos_token_id"] = append(ends, k.turnEnds(vocab)...)
}

// turnEnds finds the special tokens among the vocabulary that end an answer.
func (k *keys) turnEnds(vocab int64) []int64 {
	tokens, _ := k.f.Value(ggml + "tokens")
	types, _ := k.f.Value(ggml + "token_type")
	names, _ := tokens.Texts()
	kinds, _ := types.Ints()
	var ids []int64
	for i := range min(len(names), len(kinds)) {
		if int64(i) < vocab && kinds[i] == int64(tokenizer.TokenControl) && slices.Contains(turnEnds, names[i]) {
			ids = append(ids, int64(i))
		}
	}
	return ids
}

// EndTokens reads the tokens that end an output, as Config does, of a model whose other keys
// need not be supported.
func EndTokens(f *gguf.File) ([]int32, error) {
	k := &keys{reader: reader{f: f}, out: config.Keys{Values: map[string]any{}, Names: map[string]string{}}}
	tokens, _ := f.Value(ggml + "tokens")
	k.out.Values["vocab_size"] = int64(tokens.Len)
	k.tokens()
	if k.err != nil {
		return nil, k.err
	}
	var ends []int32
	for _, id := range k.out.Values["eos_token_id"].([]int64) {
		if id >= int64(tokens.Len) {
			return nil, fmt.Errorf("%s: the file names token %d as an end, but %stokens has %d tokens; download it again", f.Name, id, ggml, tokens.Len)
		}
		if !slices.Contains(ends, int32(id)) {
			ends = append(ends, int32(id))
		}
	}
	return ends, nil
}
