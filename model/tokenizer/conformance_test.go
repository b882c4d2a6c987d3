package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

func TestConformanceVectors(t *testing.T) {
	dir := conformance.Path(t)
	for name, model := range map[string]string{
		"llama3": "tokenizers/llama3", "gpt2": "tokenizers/gpt2", "llama2": "tokenizers/llama2",
		"tok512": "weights/stories260k/hf-f32",
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := LoadFS(os.DirFS(filepath.Join(dir, model)))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range conformance.Lines[conformance.Text](t, filepath.Join(dir, "tokenizers", name+".vectors.jsonl")) {
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
	dir := conformance.Path(t)
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
			tok, err := LoadFS(os.DirFS(filepath.Join(dir, name)))
			if err != nil {
				t.Fatal(err)
			}
			if tok.VocabSize() != want.size || tok.EOSText() != want.eos || addsBOS(tok) != want.addsBOS ||
				(tok.ChatTemplates()["default"] != "") != want.template {
				t.Errorf("size %d eos %q adds BOS %v template %v, want %+v", tok.VocabSize(), tok.EOSText(), addsBOS(tok),
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
				t.Errorf("round trip returned %q, want %q", back, want)
			}
			for _, id := range ids {
				if tok.IsSpecial(id) {
					t.Errorf("text alone was encoded with special token %q", lossy(string(tok.TokenBytes(id))))
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
