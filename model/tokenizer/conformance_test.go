package tokenizer

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// conformanceDir returns the folder of reference data or skips the test.
func conformanceDir(tb testing.TB) string {
	dir := os.Getenv("TROUPE_CONFORMANCE")
	if dir == "" {
		tb.Skip("TROUPE_CONFORMANCE is not set: it names the folder with tokenizers/*.vectors.jsonl")
	}
	return dir
}

// vector is a text with what reference implementations make of it.
type vector struct {
	Text       string  `json:"text"`
	IDs        []int32 `json:"ids"`
	IDsSpecial []int32 `json:"ids_special"`
	Decode     string  `json:"decode"`
	DecodeSkip string  `json:"decode_skip"`
}

func readVectors(tb testing.TB, file string) []vector {
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestConformanceVectors(t *testing.T) {
	dir := conformanceDir(t)
	for name, model := range map[string]string{
		"llama3": "tokenizers/llama3", "gpt2": "tokenizers/gpt2", "llama2": "tokenizers/llama2",
		"tok512": "weights/stories260k/hf-f32",
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := Load(filepath.Join(dir, model))
			if err != nil {
				t.Fatal(err)
			}
			vectors := readVectors(t, filepath.Join(dir, "tokenizers", name+".vectors.jsonl"))
			if len(vectors) == 0 {
				t.Fatal("no vectors")
			}
			for _, v := range vectors {
				if got := tok.Encode(v.Text, EncodeOptions{ParseSpecial: true}); !slices.Equal(got, v.IDs) {
					t.Errorf("encode %q\n got %v\nwant %v", v.Text, got, v.IDs)
				}
				if got := tok.Encode(v.Text, EncodeOptions{AddSpecial: true, ParseSpecial: true}); !slices.Equal(got, v.IDsSpecial) {
					t.Errorf("encode %q with special tokens\n got %v\nwant %v", v.Text, got, v.IDsSpecial)
				}
				if got := tok.Decode(v.IDs, DecodeOptions{}); got != v.Decode {
					t.Errorf("decode %v\n got %q\nwant %q", v.IDs, got, v.Decode)
				}
				// tok512's vectors were made without this field.
				if name != "tok512" {
					if got := tok.Decode(v.IDs, DecodeOptions{SkipSpecial: true}); got != v.DecodeSkip {
						t.Errorf("decode %v without special tokens\n got %q\nwant %q", v.IDs, got, v.DecodeSkip)
					}
				}
				checkStream(t, tok, v.IDs, DecodeOptions{})
			}
		})
	}
}

func TestConformanceTokenizersLoad(t *testing.T) {
	dir := conformanceDir(t)
	for name, want := range map[string]struct {
		size     int
		eos      string
		addsBOS  bool
		template bool
	}{
		"tokenizers/gpt2":             {50257, "", false, false},
		"tokenizers/llama2":           {32000, "</s>", true, false},
		"tokenizers/llama3":           {128256, "<|end_of_text|>", true, false},
		"tokenizers/mistral_v1":       {32000, "</s>", true, false},
		"tokenizers/phi3":             {32011, "<|endoftext|>", true, true},
		"tokenizers/qwen25":           {151665, "<|im_end|>", false, true},
		"tokenizers/qwen3":            {151669, "<|im_end|>", false, true},
		"weights/stories260k/hf-f32":  {512, "</s>", true, false},
		"weights/fixtures/tiny-llama": {1024, "<|im_end|>", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := Load(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if tok.VocabSize() != want.size || tok.EOSText() != want.eos || tok.AddsBOS() != want.addsBOS ||
				(tok.ChatTemplates()["default"] != "") != want.template {
				t.Errorf("size %d eos %q adds BOS %v template %v, want %+v", tok.VocabSize(), tok.EOSText(), tok.AddsBOS(),
					tok.ChatTemplates()["default"] != "", want)
			}
			const text = "Hello wörld, it's 2024!\n\n 你好\u00a0🙂 </s><|im_end|>\te\u0301"
			ids := tok.Encode(text, EncodeOptions{})
			back := tok.Decode(ids, DecodeOptions{})
			want := text
			if len(tok.normalize) == 1 { // NFC
				want = tok.normalize[0](text)
			}
			if back != want {
				t.Errorf("round trip gives %q, want %q", back, want)
			}
			for _, id := range ids {
				if tok.IsSpecial(id) {
					t.Errorf("text alone was encoded with special token %q", tok.TokenText(id))
				}
			}
		})
	}
}

// checkStream compares a stream with Decode.
func checkStream(tb testing.TB, tok *Tokenizer, ids []int32, opts DecodeOptions) {
	tb.Helper()
	s := tok.NewStream(opts)
	got := ""
	for _, id := range ids {
		got += s.Push(id)
	}
	got += s.Flush()
	if want := tok.Decode(ids, opts); got != want {
		tb.Fatalf("stream of %v with %+v\n got %q\nwant %q", ids, opts, got, want)
	}
}
