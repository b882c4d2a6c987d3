package tokenizer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// family is the rest of a tokenizer beside its tokens, with the components as
// Hugging Face's tokenizer.json of the same models has them.
type family struct {
	normalizer, preTokenizer, decoder string // JSON, empty for none
	ignoreMerges, addBOS              bool
}

// The splits of byte-level vocabularies, by their names in tokenizer.ggml.pre.
// Names whose tokenizer.json is not known are refused.
var families = map[string]family{
	"llama-bpe": {preTokenizer: splitBytes(patternLlama3), ignoreMerges: true, addBOS: true},
	"tekken":    {preTokenizer: splitBytes(patternTekken), ignoreMerges: true, addBOS: true},
	"qwen2":     {normalizer: `{"type":"NFC"}`, preTokenizer: splitBytes(patternQwen2)},
	"gpt-2":     {preTokenizer: byteLevelGPT2},
	"smollm":    {preTokenizer: sequenceOf(`{"type":"Digits","individual_digits":true}`, byteLevelGPT2)},
	// What llama.cpp does if a file names no split.
	"default": {preTokenizer: sequenceOf(split(`[\p{P}\$\+<=>\^~\|]+`), split(patternGPT2), split(`\p{N}+`), split(`[0-9][0-9][0-9]`), byteLevelOnly)},
}

// aliases are other names of them.
var aliases = map[string]string{
	"llama3": "llama-bpe", "llama-v3": "llama-bpe", "deepseek-r1-qwen": "qwen2",
	"starcoder": "smollm", "refact": "smollm", "codeshell": "smollm",
}

const (
	patternTekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	byteLevelGPT2 = `{"type":"ByteLevel","add_prefix_space":false,"use_regex":true}`
	byteLevelOnly = `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`

	spaceToMark = `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`
	markToSpace = `{"type":"Replace","pattern":{"String":"▁"},"content":" "}`
)

func sequenceOf(components ...string) string {
	return `{"type":"Sequence","pretokenizers":[` + strings.Join(components, ",") + `]}`
}

func split(pattern string) string {
	// A string always has a JSON form.
	text, _ := json.Marshal(pattern)
	return `{"type":"Split","pattern":{"Regex":` + string(text) + `},"behavior":"Isolated"}`
}

func splitBytes(pattern string) string { return sequenceOf(split(pattern), byteLevelOnly) }

// family finds the family by the names in the file.
func (v *Vocabulary) family() (family, error) {
	switch v.Model {
	case modelSPM:
		return v.sentencePiece(), nil
	case modelBPE:
	case "":
		return family{}, keyError("model", "is missing; the file has no tokenizer; download the whole model")
	default:
		return family{}, keyError("model", "is %s, which is not supported; supported: %s (byte-level BPE) and %s (SentencePiece BPE)", clip(v.Model), modelBPE, modelSPM)
	}
	name := v.Pre
	if other, ok := aliases[name]; ok {
		name = other
	}
	f, ok := families[name]
	if ok {
		f.decoder = `{"type":"ByteLevel"}`
		return f, nil
	}
	known := slices.Sorted(maps.Keys(families))
	known = append(known, slices.Sorted(maps.Keys(aliases))...)
	slices.Sort(known)
	if name == "" {
		return family{}, keyError("pre", "is missing: the file comes from an old converter, which did not store how text is split, so texts would be tokenised wrongly; download a newer conversion of the model")
	}
	return family{}, keyError("pre", "is %s, which is not supported; supported: %s; use the Hugging Face directory of the same model", clip(name), strings.Join(known, ", "))
}

// sentencePiece is the pipeline that Hugging Face makes of a SentencePiece BPE model
// (LlamaConverter in convert_slow_tokenizer.py of transformers 4).
func (v *Vocabulary) sentencePiece() family {
	f := family{addBOS: true, normalizer: spaceToMark}
	strip := ""
	if valueOr(v.AddSpacePrefix, true) {
		f.normalizer = `{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` + spaceToMark + `]}`
		strip = `,{"type":"Strip","content":" ","start":1,"stop":0}`
	}
	f.decoder = `{"type":"Sequence","decoders":[` + markToSpace + `,{"type":"ByteFallback"},{"type":"Fuse"}` + strip + `]}`
	return f
}

func (f family) apply(t *Tokenizer, v Vocabulary) (err error) {
	if err = t.readComponents(map[string]json.RawMessage{
		"normalizer": json.RawMessage(f.normalizer), "pre_tokenizer": json.RawMessage(f.preTokenizer), "decoder": json.RawMessage(f.decoder),
	}); err != nil {
		return err
	}
	m := t.model
	m.ignoreMerges = f.ignoreMerges
	var merges []merge
	if v.Model == modelSPM {
		m.byteFallback, m.fuseUnk = true, true
		if v.Unknown >= 0 && int(v.Unknown) < len(v.Tokens) {
			m.unk = v.Unknown
		}
		merges, err = v.scoredMerges(m)
	} else {
		merges, err = v.listedMerges(m)
	}
	m.setMerges(merges)
	return err
}
