package hf

import (
	"slices"

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

// none is what some writers put for a token that the model does not have.
const none = 1<<32 - 1

// tokens carries over what begins and ends a text.
func (k *keys) tokens() {
	bos := k.id("bos_token_id", 1)
	ends := k.id("eos_token_id", 2)
	for _, key := range []string{"eot_token_id", "eom_token_id"} {
		ends = append(ends, k.id(key, -1)...)
	}
	vocab, _ := k.int("vocab_size")
	k.out.Values["bos_token_id"] = bos
	k.out.Values["eos_token_id"] = append(ends, k.turnEnds(vocab)...)
}

// id reads a special token. SentencePiece models have the usual one where the
// file does not say.
func (k *keys) id(name string, usual int64) []int64 {
	key := ggml + name
	k.out.Names[name] = key
	if v, ok := k.f.Value(key); ok {
		n, ok := v.Int()
		if !ok && k.err == nil {
			k.err = wrongKind(k.f, key, v, "a token id")
		}
		if n < 0 || n == none {
			return nil
		}
		return []int64{n}
	}
	if model, _ := text(k.f, ggml+"model"); model == "llama" && usual >= 0 {
		return []int64{usual}
	}
	return nil
}

// turnEnds finds the special tokens among the vocabulary that end an answer.
func (k *keys) turnEnds(vocab int64) []int64 {
	tokens, _ := k.f.Value("tokenizer.ggml.tokens")
	types, _ := k.f.Value("tokenizer.ggml.token_type")
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

// sampling carries over what the file recommends.
func (k *keys) sampling() {
	for to, from := range map[string]string{
		"temperature": "temp", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "repetition_penalty": "penalty_repeat",
	} {
		from = "general.sampling." + from
		k.out.Names[to] = from
		if v, ok := k.f.Value(from); ok {
			k.out.Generation[to] = k.plain(from, v)
		}
	}
}
