package hf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// published is a tokenizer.json, as far as a converter needs it.
type published struct {
	Model struct {
		Vocab  map[string]int32  `json:"vocab"`
		Merges []json.RawMessage `json:"merges"`
	} `json:"model"`
	Added []struct {
		ID      int32  `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
}

func readPublished(t *testing.T, dir string) *published {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := &published{}
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// tokens are the list of a converted file: of rows entries, the ones without a
// token called [PADn], and the types of all.
func (p *published) tokens(rows int) (list []string, types []int32) {
	for i := range rows {
		list, types = append(list, fmt.Sprintf("[PAD%d]", i)), append(types, int32(tokenizer.TokenUnused))
	}
	for content, id := range p.Model.Vocab {
		list[id], types[id] = content, int32(tokenizer.TokenNormal)
	}
	for _, a := range p.Added {
		list[a.ID], types[a.ID] = a.Content, int32(tokenizer.TokenUserDefined)
		// Converters take what looks special for special.
		if a.Special || strings.HasPrefix(a.Content, "<|") && strings.HasSuffix(a.Content, "|>") {
			types[a.ID] = int32(tokenizer.TokenControl)
		}
	}
	return list, types
}

// merges are "left right", in whichever form the file has them.
func (p *published) merges(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, raw := range p.Model.Merges {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var pair []string
			if err := json.Unmarshal(raw, &pair); err != nil {
				t.Fatal(err)
			}
			text = strings.Join(pair, " ")
		}
		list = append(list, text)
	}
	return list
}

// byteLevel is the metadata of a byte-level vocabulary.
func (p *published) byteLevel(t *testing.T, pre string, rows int) []ggufwrite.Key {
	list, types := p.tokens(rows)
	return ggufwrite.Keys("tokenizer.ggml.model", "gpt2", "tokenizer.ggml.pre", pre, "tokenizer.ggml.tokens", list,
		"tokenizer.ggml.token_type", types, "tokenizer.ggml.merges", p.merges(t))
}

// sentencePiece is the metadata of a SentencePiece vocabulary. The scores are
// those of Llama 2's and Mistral's tokenizer.model: pieces in the order of
// their ids, runs of spaces last, added tokens at -1000.
func (p *published) sentencePiece(rows int) []ggufwrite.Key {
	list, types := p.tokens(rows)
	scores := make([]float32, rows)
	for content, id := range p.Model.Vocab {
		var b byte
		switch _, err := fmt.Sscanf(content, "<0x%02X>", &b); {
		case err == nil:
			types[id] = int32(tokenizer.TokenByte)
		case strings.Trim(content, "▁") == "" && len(content) > len("▁"):
			scores[id] = -1e9
		case id >= 259:
			scores[id] = -float32(id - 259)
		}
	}
	for _, a := range p.Added {
		scores[a.ID] = -1000
	}
	return ggufwrite.Keys("tokenizer.ggml.model", "llama", "tokenizer.ggml.pre", "default", "tokenizer.ggml.tokens", list,
		"tokenizer.ggml.scores", scores, "tokenizer.ggml.token_type", types, "tokenizer.ggml.unknown_token_id", uint32(0))
}

// converted opens metadata through a file.
func converted(t *testing.T, keys []ggufwrite.Key) *tokenizer.Tokenizer {
	t.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, ggufwrite.File{Keys: keys}); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(fstest.MapFS{"m.gguf": {Data: b.Bytes()}}, "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := hf.Tokenizer(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestConformanceTokenizers converts tokenizers as llama.cpp's converter does
// and compares them with the originals, on all texts: with what the reference
// gave where there are such results, and with the original as it is loaded here
// everywhere.
func TestConformanceTokenizers(t *testing.T) {
	dir := conformance.Path(t, "tokenizers")
	texts := conformance.Lines[conformance.Text](t, filepath.Join(dir, "llama3.vectors.jsonl"))
	if len(texts) != 543 {
		t.Fatalf("%d texts, want 543", len(texts))
	}
	ids := func(bos, eos int, more ...any) []ggufwrite.Key {
		return ggufwrite.Keys(append([]any{"tokenizer.ggml.bos_token_id", uint32(bos), "tokenizer.ggml.eos_token_id", uint32(eos)}, more...)...)
	}
	const addBOS, addPrefix = "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix"
	for name, c := range map[string]struct {
		pre  string // empty for SentencePiece
		rows int
		keys []ggufwrite.Key
		// lost are tokens that are not special in the original and are here.
		lost bool
	}{
		"llama3":     {"llama-bpe", 128256, ids(128000, 128001), false},
		"qwen25":     {"qwen2", 151936, ids(151643, 151645, addBOS, false), true},
		"qwen3":      {"qwen2", 151936, ids(151643, 151645, addBOS, false), true},
		"gpt2":       {"gpt-2", 50257, ids(50256, 50256), false},
		"llama2":     {"", 32000, ids(1, 2, addBOS, true, addPrefix, true), false},
		"mistral_v1": {"", 32000, ids(1, 2), false},
		"phi3":       {"", 32064, ids(1, 32000, addBOS, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			original, err := tokenizer.LoadFS(os.DirFS(filepath.Join(dir, name)))
			if err != nil {
				t.Fatal(err)
			}
			p := readPublished(t, filepath.Join(dir, name))
			keys := p.sentencePiece
			if c.pre != "" {
				keys = func(rows int) []ggufwrite.Key { return p.byteLevel(t, c.pre, rows) }
			}
			tok := converted(t, append(keys(c.rows), c.keys...))
			if have, want := tok.VocabSize(), original.VocabSize(); have != want {
				t.Errorf("%d ids, the original has %d", have, want)
			}
			for id := range int32(original.VocabSize()) {
				if !bytes.Equal(tok.TokenBytes(id), original.TokenBytes(id)) || tok.IsSpecial(id) != original.IsSpecial(id) && !c.lost {
					t.Errorf("token %d is %q, special %v; the original %q, %v", id, tok.TokenBytes(id), tok.IsSpecial(id), original.TokenBytes(id), original.IsSpecial(id))
				}
			}
			for _, v := range texts {
				for _, o := range []tokenizer.EncodeOptions{{ParseSpecial: true}, {ParseSpecial: true, AddSpecial: true}, {}} {
					if c.lost && !o.ParseSpecial {
						continue
					}
					if got, want := tok.Encode(v.Text, o), original.Encode(v.Text, o); !slices.Equal(got, want) {
						t.Errorf("encode %q with %+v\n got %v\nwant %v", v.Text, o, got, want)
					}
				}
				own := original.Encode(v.Text, tokenizer.EncodeOptions{ParseSpecial: true})
				if got, want := tok.Decode(own, tokenizer.DecodeOptions{}), original.Decode(own, tokenizer.DecodeOptions{}); got != want {
					t.Errorf("decode %v\n got %q\nwant %q", own, got, want)
				}
			}
			file := filepath.Join(dir, name+".vectors.jsonl")
			if _, err := os.Stat(file); err != nil {
				return
			}
			for _, v := range conformance.Lines[conformance.Text](t, file) {
				checkVector(t, tok, v, true)
			}
		})
	}
}

func checkVector(t *testing.T, tok *tokenizer.Tokenizer, v conformance.Text, skip bool) {
	t.Helper()
	if got := tok.Encode(v.Text, tokenizer.EncodeOptions{ParseSpecial: true}); !slices.Equal(got, v.IDs) {
		t.Errorf("encode %q\n got %v\nwant %v", v.Text, got, v.IDs)
	}
	if got := tok.Encode(v.Text, tokenizer.EncodeOptions{ParseSpecial: true, AddSpecial: true}); !slices.Equal(got, v.IDsSpecial) {
		t.Errorf("encode %q with special tokens\n got %v\nwant %v", v.Text, got, v.IDsSpecial)
	}
	if got := tok.Decode(v.IDs, tokenizer.DecodeOptions{}); got != v.Decode {
		t.Errorf("decode %v\n got %q\nwant %q", v.IDs, got, v.Decode)
	}
	if got := tok.Decode(v.IDs, tokenizer.DecodeOptions{SkipSpecial: true}); skip && got != v.DecodeSkip {
		t.Errorf("decode %v without special tokens\n got %q\nwant %q", v.IDs, got, v.DecodeSkip)
	}
}

// TestConformanceFileTokenizers reads tokenizers of files that others made.
func TestConformanceFileTokenizers(t *testing.T) {
	dir := conformance.Path(t)
	weights := os.DirFS(filepath.Join(dir, "weights"))
	for file, original := range map[string]string{
		"stories260k/stories260K-f32.gguf": "stories260k/hf-f32",
		"stories260k/stories260K-f16.gguf": "stories260k/hf-f32",
		"quant/tiny-llama-Q4_K_M.gguf":     "fixtures/tiny-llama",
	} {
		f, err := gguf.Open(weights, file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tok, err := hf.Tokenizer(f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tokenizer.LoadFS(os.DirFS(filepath.Join(dir, "weights", original)))
		if err != nil {
			t.Fatal(err)
		}
		if tok.BOSText() != want.BOSText() && want.BOSText() != "" || tok.EOSText() != want.EOSText() || !slices.Equal(tok.Encode("", tokenizer.EncodeOptions{AddSpecial: true}), want.Encode("", tokenizer.EncodeOptions{AddSpecial: true})) || tok.VocabSize() != want.VocabSize() {
			t.Errorf("%s: BOS %q EOS %q size %d; the original %q %q %d", file, tok.BOSText(), tok.EOSText(), tok.VocabSize(),
				want.BOSText(), want.EOSText(), want.VocabSize())
		}
		if tok.ChatTemplates()["default"] != want.ChatTemplates()["default"] {
			t.Errorf("%s: another chat template", file)
		}
		for _, v := range conformance.Lines[conformance.Text](t, filepath.Join(dir, "tokenizers", "llama3.vectors.jsonl")) {
			o := tokenizer.EncodeOptions{ParseSpecial: true, AddSpecial: true}
			if got, want := tok.Encode(v.Text, o), want.Encode(v.Text, o); !slices.Equal(got, want) {
				t.Errorf("%s: encode %q\n got %v\nwant %v", file, v.Text, got, want)
			}
		}
		if original != "stories260k/hf-f32" {
			continue
		}
		for _, v := range conformance.Lines[conformance.Text](t, filepath.Join(dir, "tokenizers", "tok512.vectors.jsonl")) {
			checkVector(t, tok, v, false)
		}
	}
}
