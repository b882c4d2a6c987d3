package tokenizer

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// bytesVocabulary is a byte-level vocabulary of the 256 bytes and more tokens.
func bytesVocabulary(more ...string) Vocabulary {
	v := Vocabulary{Model: "gpt2", Pre: "gpt-2", BOS: -1, EOS: -1, Unknown: -1, Merges: []string{}}
	for b := range 256 {
		v.Tokens = append(v.Tokens, string(byteToRune[b]))
	}
	v.Tokens = append(v.Tokens, more...)
	v.Types = slices.Repeat([]TokenType{TokenNormal}, len(v.Tokens))
	return v
}

// pieces is a SentencePiece vocabulary; scores fall with the id.
func pieces(normal ...string) Vocabulary {
	v := Vocabulary{Model: "llama", BOS: 1, EOS: 2, Unknown: 0, Tokens: []string{"<unk>", "<s>", "</s>"}, Types: []TokenType{TokenUnknown, TokenControl, TokenControl}}
	for _, t := range normal {
		v.Tokens, v.Types = append(v.Tokens, t), append(v.Types, TokenNormal)
	}
	for i := range v.Tokens {
		v.Scores = append(v.Scores, -float32(i))
	}
	return v
}

func fromVocabulary(tb testing.TB, v Vocabulary) *Tokenizer {
	tb.Helper()
	t, err := FromVocabulary(v)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// split returns the texts of the tokens of a text.
func splitTexts(t *Tokenizer, text string, o EncodeOptions) string {
	var parts []string
	for _, id := range t.Encode(text, o) {
		parts = append(parts, t.content[id])
	}
	return strings.Join(parts, "|")
}

func TestFromVocabularyBytes(t *testing.T) {
	v := bytesVocabulary("he", "ll", "hell", "hello", "<end>", "<tool>", "[PAD262]", "")
	v.Merges = []string{"h e", "l l", "he ll", "hell o"}
	v.Types[260], v.Types[261], v.Types[262] = TokenControl, TokenUserDefined, TokenUnused
	v.EOS = 260
	tok := fromVocabulary(t, v)
	if tok.VocabSize() != 262 || tok.EOSText() != "<end>" || !tok.IsSpecial(260) || tok.IsSpecial(261) || tok.TokenBytes(262) != nil {
		t.Errorf("size %d, EOS %q, special %v %v, padding %q", tok.VocabSize(), tok.EOSText(), tok.IsSpecial(260), tok.IsSpecial(261), tok.TokenBytes(262))
	}
	if _, ok := tok.BOS(); ok || addsBOS(tok) {
		t.Error("a BOS that the file does not name")
	}
	for text, want := range map[string]string{
		"hello hell":      "hello|Ġ|hell",
		"x<end>y<tool>z":  "x|<end>|y|<tool>|z",
		"[PAD262]":        "[|P|A|D|2|6|2|]",
		"12 34":           "1|2|Ġ|3|4",
		"héllo":           "h|Ã|©|ll|o",
		" \n\nhello<end>": "Ġ|Ċ|Ċ|hello|<end>",
	} {
		if got := splitTexts(tok, text, EncodeOptions{ParseSpecial: true, AddSpecial: true}); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := splitTexts(tok, "<end><tool>", EncodeOptions{}); got != "<|e|n|d|>|<tool>" {
		t.Errorf("special tokens in text from outside: %q", got)
	}
}

// TestFromVocabularyFamilies: each name means the right pipeline.
func TestFromVocabularyFamilies(t *testing.T) {
	const text = "It's 1234 e\u0301\n\n go"
	for pre, want := range map[string]string{
		"llama-bpe": "It|'s| |123|4| e|\u0301\n\n| go", "llama3": "It|'s| |123|4| e|\u0301\n\n| go",
		"qwen2": "It|'s| |1|2|3|4| é|\n\n| go", "deepseek-r1-qwen": "It|'s| |1|2|3|4| é|\n\n| go",
		"gpt-2":   "It|'s| 1234| e|\u0301|\n\n| go",
		"smollm":  "It|'s| |1|2|3|4| e|\u0301|\n\n| go",
		"tekken":  "It|'s| |1|2|3|4| e\u0301|\n\n| go",
		"default": "It|'|s| |123|4| e|\u0301|\n\n| go",
	} {
		v := bytesVocabulary("<s>")
		v.Pre, v.BOS, v.Types[256] = pre, 256, TokenControl
		tok := fromVocabulary(t, v)
		var got []string
		s := text
		for _, step := range tok.normalize {
			s = step(s)
		}
		tok.pre.run(s, true, func(piece string) bool { got = append(got, piece); return true })
		if joined := strings.Join(got, "|"); joined != want {
			t.Errorf("%s: %q, want %q", pre, joined, want)
		}
		if addsBOS(tok) != (pre == "llama-bpe" || pre == "llama3" || pre == "tekken") || tok.model.ignoreMerges != addsBOS(tok) {
			t.Errorf("%s: adds BOS %v, ignores merges %v", pre, addsBOS(tok), tok.model.ignoreMerges)
		}
	}
	no := false
	v := bytesVocabulary("<s>")
	v.Pre, v.BOS, v.Types[256], v.AddBOS = "llama-bpe", 256, TokenControl, &no
	if addsBOS(fromVocabulary(t, v)) {
		t.Error("BOS is added although the file says no")
	}
}

func TestFromVocabularySentencePiece(t *testing.T) {
	v := pieces("▁", "a", "b", "c", "ab", "▁a", "bc", "▁abc", "abc", "<0x0A>", "▁ab")
	v.Types[12] = TokenByte
	tok := fromVocabulary(t, v)
	for text, want := range map[string]string{
		"abc":      "<s>|▁abc",
		"c abc":    "<s>|▁|c|▁abc",
		"a\n":      "<s>|▁a|<0x0A>",
		"xyz":      "<s>|▁|<unk>", // one for the run
		"a</s>b":   "<s>|▁a|</s>|▁|b",
		"<0x0A>":   "<s>|▁|<unk>",
		"  a":      "<s>|▁|▁|▁a",
		"ab<unk>c": "<s>|▁ab|<unk>|▁|c",
	} {
		if got := splitTexts(tok, text, EncodeOptions{ParseSpecial: true, AddSpecial: true}); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := tok.Decode(tok.Encode("a bc\n", EncodeOptions{}), DecodeOptions{}); got != "a bc\n" {
		t.Errorf("decoded to %q", got)
	}
	no, yes := false, true
	v.AddSpacePrefix, v.AddBOS, v.AddEOS = &no, &no, &yes
	tok = fromVocabulary(t, v)
	if got := splitTexts(tok, "bc a", EncodeOptions{AddSpecial: true}); got != "bc|▁a|</s>" {
		t.Errorf("without a space before the text: %q", got)
	}
	if got := tok.Decode(tok.Encode(" a", EncodeOptions{}), DecodeOptions{}); got != " a" {
		t.Errorf("without a space before the text, decoded to %q", got)
	}
}

// TestScoredMerges compares encoding with the algorithm of SentencePiece, which
// has no merges: join the two neighbours whose token has the highest score, the
// leftmost of equals.
func TestScoredMerges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := []string{"▁", "a", "b", "c"}
		more := rapid.SliceOfNDistinct(rapid.StringMatching(`▁?[abc]{2,5}`), 1, 12, rapid.ID[string]).Draw(t, "pieces")
		v := pieces(append(letters, more...)...)
		tok, err := FromVocabulary(v)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.StringMatching(`[abc ]{1,20}`).Draw(t, "text")
		parts := strings.Split("▁"+strings.ReplaceAll(text, " ", "▁"), "")
		for {
			best, at := math.MaxInt, -1
			for i := range len(parts) - 1 {
				if id := slices.Index(v.Tokens, parts[i]+parts[i+1]); id >= 0 && id < best {
					best, at = id, i
				}
			}
			if at < 0 {
				break
			}
			parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
		}
		if got, want := splitTexts(tok, text, EncodeOptions{}), strings.Join(parts, "|"); got != want {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
	})
}

func TestFromVocabularyRefuses(t *testing.T) {
	change := func(v Vocabulary, f func(*Vocabulary)) Vocabulary { f(&v); return v }
	yes := true
	for name, c := range map[string]struct {
		v    Vocabulary
		want []string
	}{
		"nothing":        {Vocabulary{}, []string{"tokenizer.ggml.tokens is missing"}},
		"no model":       {change(bytesVocabulary(), func(v *Vocabulary) { v.Model = "" }), []string{"tokenizer.ggml.model is missing"}},
		"another model":  {change(bytesVocabulary(), func(v *Vocabulary) { v.Model = "t5" }), []string{`tokenizer.ggml.model is "t5"`, "gpt2", "llama"}},
		"no split":       {change(bytesVocabulary(), func(v *Vocabulary) { v.Pre = "" }), []string{"tokenizer.ggml.pre is missing", "newer conversion"}},
		"another split":  {change(bytesVocabulary(), func(v *Vocabulary) { v.Pre = "kimi-k2" }), []string{`tokenizer.ggml.pre is "kimi-k2"`, "default, gpt-2, llama-bpe", "qwen2", "smollm"}},
		"types":          {change(bytesVocabulary(), func(v *Vocabulary) { v.Types = v.Types[1:] }), []string{"token_type has 255 types for 256 tokens"}},
		"no UTF-8":       {bytesVocabulary("\xff\xfe"), []string{"tokens[256]", "UTF-8"}},
		"twice":          {bytesVocabulary("a"), []string{"tokens[256]", `"a"`, "token 97"}},
		"too long":       {bytesVocabulary(strings.Repeat("x", maxTokenLen+1)), []string{"tokens[256]", "4097 bytes"}},
		"no merges":      {change(bytesVocabulary(), func(v *Vocabulary) { v.Merges = nil }), []string{"merges is missing"}},
		"merge":          {change(bytesVocabulary(), func(v *Vocabulary) { v.Merges = []string{"ab"} }), []string{"merges[0]", "two tokens"}},
		"merge of three": {change(bytesVocabulary(), func(v *Vocabulary) { v.Merges = []string{"a b c"} }), []string{"merges[0]", "two tokens"}},
		"merge to none":  {change(bytesVocabulary("ab"), func(v *Vocabulary) { v.Merges = []string{"a b", "ab c"} }), []string{"merges[1]", `"abc"`}},
		"scores":         {change(pieces("a"), func(v *Vocabulary) { v.Scores = v.Scores[1:] }), []string{"scores has 3 scores for 4 tokens"}},
		"score NaN":      {change(pieces("a"), func(v *Vocabulary) { v.Scores[3] = float32(math.NaN()) }), []string{"scores[3]", "not a number"}},
		"BOS":            {change(pieces("a"), func(v *Vocabulary) { v.BOS = 4 }), []string{"bos_token_id is 4", "has 4 tokens"}},
		"EOS":            {change(pieces("a"), func(v *Vocabulary) { v.EOS = math.MaxInt32 }), []string{"eos_token_id is 2147483647"}},
		"BOS to add":     {change(bytesVocabulary(), func(v *Vocabulary) { v.AddBOS = &yes }), []string{"add_bos_token is true", "bos_token_id"}},
		"EOS to add":     {change(bytesVocabulary(), func(v *Vocabulary) { v.AddEOS = &yes }), []string{"add_eos_token is true", "eos_token_id"}},
	} {
		_, err := FromVocabulary(c.v)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

// FuzzFromVocabulary: whatever a file says, there is an error or a tokenizer
// that encodes and decodes.
func FuzzFromVocabulary(f *testing.F) {
	f.Add("llama", "", "a\nb\nab\n▁\n<s>", "\x01\x01\x01\x01\x03", "", int32(4), "ab a")
	f.Add("gpt2", "gpt-2", "a\nb\nab\n<s>", "\x01\x01\x01\x03", "a b", int32(3), "ab")
	f.Add("gpt2", "qwen2", "a\na", "", "a", int32(-1), "é")
	f.Fuzz(func(t *testing.T, model, pre, tokens, types, merges string, special int32, text string) {
		v := Vocabulary{Model: model, Pre: pre, Tokens: strings.Split(tokens, "\n"), Merges: strings.Split(merges, "\n"), BOS: special, EOS: -1, Unknown: special}
		if merges == "" {
			v.Merges = []string{}
		}
		for i := range len(types) {
			v.Types = append(v.Types, TokenType(types[i]))
			v.Scores = append(v.Scores, float32(types[i]))
		}
		tok, err := FromVocabulary(v)
		if err != nil {
			return
		}
		ids := tok.Encode(text, EncodeOptions{AddSpecial: true, ParseSpecial: true})
		if out := tok.Decode(ids, DecodeOptions{}); !utf8.ValidString(out) {
			t.Errorf("%v decode to %q", ids, out)
		}
	})
}
