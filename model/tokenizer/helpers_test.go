package tokenizer

import (
	"encoding/json"
	"testing"
	"testing/fstest"
)

// fixture describes a small tokenizer.json. Fields that are empty are null.
type fixture struct {
	vocab        []string // ids in order
	merges       []any    // "a b" or []string{"a", "b"}
	model        map[string]any
	normalizer   any
	preTokenizer any
	post         any
	decoder      any
	added        []map[string]any
	files        map[string]string // further files
}

type dict = map[string]any

// addsBOS tells whether AddSpecial puts the BOS token in front.
func addsBOS(t *Tokenizer) bool {
	bos, ok := t.BOS()
	ids := t.Encode("", EncodeOptions{AddSpecial: true})
	return ok && len(ids) > 0 && ids[0] == bos
}

func (f fixture) json(tb testing.TB) []byte {
	vocab := dict{}
	for id, tok := range f.vocab {
		vocab[tok] = id
	}
	merges := f.merges
	if merges == nil {
		merges = []any{}
	}
	model := dict{"type": "BPE", "vocab": vocab, "merges": merges}
	for k, v := range f.model {
		model[k] = v
	}
	added := f.added
	if added == nil {
		added = []map[string]any{}
	}
	data, err := json.Marshal(dict{
		"version": "1.0", "added_tokens": added, "normalizer": f.normalizer, "pre_tokenizer": f.preTokenizer,
		"post_processor": f.post, "decoder": f.decoder, "model": model,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func (f fixture) load(tb testing.TB) *Tokenizer {
	tb.Helper()
	files := fstest.MapFS{fileTokenizer: {Data: f.json(tb)}}
	for name, content := range f.files {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	tok, err := LoadFS(files)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// byteAlphabet is the vocabulary of the 256 byte-level characters.
func byteAlphabet() []string {
	var v []string
	for b := range 256 {
		v = append(v, string(byteToRune[b]))
	}
	return v
}

var byteLevel = dict{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}

// smallByteLevel is a GPT-2 style tokenizer: bytes are ids 0 to 255.
func smallByteLevel() fixture {
	return fixture{
		vocab:        append(byteAlphabet(), "he", "ll", "hell", "hello", "Ġw", "or", "Ġwor", "Ġworld", "ld"),
		merges:       []any{"h e", "l l", "he ll", []string{"hell", "o"}, "Ġ w", "o r", "l d", "Ġw or", "Ġwor ld"},
		preTokenizer: byteLevel,
		decoder:      byteLevel,
		added: []map[string]any{
			{"id": 300, "content": "<|end|>", "special": true},
			{"id": 301, "content": "<think>", "special": false},
		},
		files: map[string]string{fileConfig: `{"eos_token": "<|end|>", "clean_up_tokenization_spaces": true}`},
	}
}

// smallSentencePiece is a Llama 2 style tokenizer: <unk>, <s>, </s>, then the
// bytes <0x00> to <0xFF> as ids 3 to 258.
func smallSentencePiece() fixture {
	vocab := []string{"<unk>", "<s>", "</s>"}
	for b := range 256 {
		vocab = append(vocab, "<0x"+string("0123456789ABCDEF"[b>>4])+string("0123456789ABCDEF"[b&15])+">")
	}
	vocab = append(vocab, "▁", "a", "b", "c", "é", "▁a", "ab", "▁ab", "▁▁", "bc")
	return fixture{
		vocab:  vocab,
		merges: []any{"▁ a", "a b", "▁a b", "▁ ▁", "b c"},
		model:  dict{"unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true},
		normalizer: dict{"type": "Sequence", "normalizers": []any{
			dict{"type": "Prepend", "prepend": "▁"},
			dict{"type": "Replace", "pattern": dict{"String": " "}, "content": "▁"},
		}},
		post: dict{"type": "TemplateProcessing",
			"single": []any{
				dict{"SpecialToken": dict{"id": "<s>", "type_id": 0}},
				dict{"Sequence": dict{"id": "A", "type_id": 0}},
				dict{"SpecialToken": dict{"id": "</s>", "type_id": 0}},
			},
			"special_tokens": dict{"<s>": dict{"id": "<s>", "ids": []int{1}}, "</s>": dict{"id": "</s>", "ids": []int{2}}},
		},
		decoder: dict{"type": "Sequence", "decoders": []any{
			dict{"type": "Replace", "pattern": dict{"String": "▁"}, "content": " "},
			dict{"type": "ByteFallback"}, dict{"type": "Fuse"},
			dict{"type": "Strip", "content": " ", "start": 1, "stop": 0},
		}},
		added: []map[string]any{
			{"id": 0, "content": "<unk>", "special": true},
			{"id": 1, "content": "<s>", "special": true},
			{"id": 2, "content": "</s>", "special": true},
		},
		files: map[string]string{fileConfig: `{"bos_token": "<s>", "eos_token": {"content": "</s>"}}`},
	}
}

// preTokenizersOf reads a "pre_tokenizer" section.
func preTokenizersOf(section []byte) (preTokenizers, error) {
	tok := &Tokenizer{model: &bpe{}}
	err := tok.readPreTokenizers(section)
	return tok.pre, err
}
