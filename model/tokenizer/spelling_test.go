package tokenizer

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fusedSentencePiece replaces the mark of spaces in the joined text.
func fusedSentencePiece() fixture {
	f := smallSentencePiece()
	f.decoder = dict{"type": "Sequence", "decoders": []any{
		dict{"type": "ByteFallback"}, dict{"type": "Fuse"},
		dict{"type": "Replace", "pattern": dict{"String": "▁"}, "content": " "},
		dict{"type": "Strip", "content": " ", "start": 1, "stop": 0},
	}}
	return f
}

// metaspaces is a tokenizer with the decoder Metaspace.
func metaspaces() fixture {
	f := smallSentencePiece()
	f.normalizer = nil
	f.preTokenizer = dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
	f.decoder = dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
	return f
}

func TestSpelling(t *testing.T) {
	for name, c := range map[string]struct {
		f    fixture
		want map[string]string // by content
	}{
		"byte-level":       {smallByteLevel(), map[string]string{"Ġworld": " world", "Ã": "\xc3", "<think>": "<think>", "<|end|>": "<|end|>"}},
		"byte fallback":    {smallSentencePiece(), map[string]string{"▁ab": " ab", "▁▁": "  ", "<0xC3>": "\xc3", "é": "é", "</s>": "</s>"}},
		"replaced in text": {fusedSentencePiece(), map[string]string{"▁ab": " ab", "▁▁": "  ", "<0xC3>": "\xc3", "é": "é"}},
		"metaspace":        {metaspaces(), map[string]string{"▁ab": " ab", "▁": " ", "bc": "bc"}},
	} {
		tok := c.f.load(t)
		all, err := tok.Spelling()
		if err != nil || len(all) != tok.VocabSize() {
			t.Fatalf("%s: %d of %d, %v", name, len(all), tok.VocabSize(), err)
		}
		for content, want := range c.want {
			id, ok := tok.TokenID(content)
			if !ok || string(all[id]) != want || tok.TokenContent(id) != content {
				t.Errorf("%s: %q is %q, want %q; its content is %q", name, content, all[id], want, tok.TokenContent(id))
			}
		}
	}
	tok := smallByteLevel().load(t)
	all, _ := tok.Spelling()
	if all[280] != nil || tok.TokenContent(280) != "" || tok.TokenContent(-1) != "" || tok.TokenContent(1<<20) != "" {
		t.Error("an id without a token has a text")
	}
}

func TestSpellingRefuses(t *testing.T) {
	bare := smallByteLevel()
	bare.decoder = nil
	steps := func(step dict) fixture {
		f := smallSentencePiece()
		f.decoder = dict{"type": "Sequence", "decoders": []any{dict{"type": "ByteFallback"}, dict{"type": "Fuse"}, step}}
		return f
	}
	for want, f := range map[string]fixture{
		"has no decoder":                  bare,
		`removes " " at the end`:          steps(dict{"type": "Strip", "content": " ", "start": 0, "stop": 1}),
		`replaces "ab" in the whole text`: steps(dict{"type": "Replace", "pattern": dict{"String": "ab"}, "content": "c"}),
	} {
		if _, err := f.load(t).Spelling(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSpellingIsWhatStreamsDecode compares the bytes of random tokens with the text that a
// stream makes of them after a context.
func TestSpellingIsWhatStreamsDecode(t *testing.T) {
	for name, f := range map[string]fixture{"byte-level": smallByteLevel(), "byte fallback": smallSentencePiece(), "replaced in text": fusedSentencePiece(), "metaspace": metaspaces()} {
		tok := f.load(t)
		all, err := tok.Spelling()
		if err != nil {
			t.Fatal(err)
		}
		context, _ := tok.TokenID("a")
		rapid.Check(t, func(t *rapid.T) {
			ids := rapid.SliceOfN(rapid.Int32Range(0, int32(tok.VocabSize())-1), 0, 8).Draw(t, "ids")
			var text []byte
			for _, id := range ids {
				if !tok.IsSpecial(id) {
					text = append(text, all[id]...)
				}
			}
			if !utf8.Valid(text) || bytes.Contains(text, []byte(byteOrderMark)) {
				return
			}
			s := tok.NewStreamAfter([]int32{context}, DecodeOptions{SkipSpecial: true})
			got := ""
			for _, id := range ids {
				got += s.Push(id)
			}
			if got += s.Flush(); got != string(text) {
				t.Fatalf("%s: %v decode to %q and spell %q", name, ids, got, text)
			}
		})
	}
}
