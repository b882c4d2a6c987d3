package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func marshal(tb testing.TB, v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestNormalizers(t *testing.T) {
	for _, c := range []struct {
		step     dict
		in, want string
	}{
		{dict{"type": "NFC"}, "e\u0301", "é"},
		{dict{"type": "NFD"}, "é", "e\u0301"},
		{dict{"type": "NFKC"}, "ﬁ①", "fi1"},
		{dict{"type": "NFKD"}, "ﬁé", "fie\u0301"},
		{dict{"type": "Lowercase"}, "ÀΣİ", "àσi\u0307"},
		{dict{"type": "StripAccents"}, "e\u0301a", "ea"},
		{dict{"type": "Strip", "strip_left": true, "strip_right": false}, " \t a ", "a "},
		{dict{"type": "Strip", "strip_left": true, "strip_right": true}, "\u00a0a\n", "a"},
		{dict{"type": "Prepend", "prepend": "▁"}, "a", "▁a"},
		{dict{"type": "Prepend", "prepend": "▁"}, "", ""},
		{dict{"type": "Replace", "pattern": dict{"String": " "}, "content": "▁"}, "a  b", "a▁▁b"},
		{dict{"type": "Replace", "pattern": dict{"Regex": " {2,}"}, "content": "-"}, "a b   c", "a b-c"},
		{dict{"type": "ByteLevel"}, " é", "ĠÃ©"},
	} {
		var tok Tokenizer
		err := tok.readNormalizers(marshal(t, c.step))
		steps := tok.normalize
		if err != nil {
			t.Fatal(err)
		}
		if got := steps[0](c.in); got != c.want {
			t.Errorf("%v on %q = %q, want %q", c.step, c.in, got, c.want)
		}
	}
}

// x/text keeps text stream-safe by inserting U+034F into long runs of marks.
func TestNormalFormOfLongMarks(t *testing.T) {
	long := "e" + strings.Repeat("\u0323\u0301", 40) + "x"
	got := normalForm(norm.NFC, long)
	want := "\u1eb9" + strings.Repeat("\u0323", 39) + strings.Repeat("\u0301", 40) + "x"
	if got != want {
		t.Errorf("NFC of many marks is %+q, want %+q", got, want)
	}
}

// The slow path agrees with x/text where that inserts nothing.
func TestNormalFormSlowPath(t *testing.T) {
	chars := []rune("aeKÅéộ\u0301\u0323\u0327\u0345가각각ﬁ①क़\u093cが\u3099")
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom(chars), 0, 12, -1).Draw(rt, "text")
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			slow := decompose(form, s)
			if form == norm.NFC || form == norm.NFKC {
				slow = compose(slow)
			}
			if want := form.String(s); string(slow) != want {
				rt.Fatalf("form %d of %+q is %+q, want %+q", form, s, string(slow), want)
			}
			marks := strings.Repeat(s[:len(s)/2], 20)
			slow = decompose(form, lossy(marks))
			if form == norm.NFC || form == norm.NFKC {
				slow = compose(slow)
			}
			if got := normalForm(form, lossy(marks)); got != string(slow) {
				rt.Fatalf("form %d of %+q is %+q, want %+q", form, marks, got, string(slow))
			}
		}
	})
}

func TestPreTokenizers(t *testing.T) {
	split := func(pattern dict, behavior string, invert bool) dict {
		return dict{"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
	}
	dash := dict{"String": "-"}
	const dashes = "the-final--countdown"
	meta := func(scheme string, split bool) dict {
		return dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
	}
	for _, c := range []struct {
		step     dict
		in, want string // pieces separated by |
	}{
		{split(dash, "Removed", false), dashes, "the|final|countdown"},
		{split(dash, "Isolated", false), dashes, "the|-|final|-|-|countdown"},
		{split(dash, "MergedWithPrevious", false), dashes, "the-|final-|-|countdown"},
		{split(dash, "MergedWithNext", false), dashes, "the|-final|-|-countdown"},
		{split(dash, "Contiguous", false), dashes, "the|-|final|--|countdown"},
		{split(dict{"Regex": `\w+`}, "Removed", true), "a b", "a|b"},
		{split(dict{"Regex": patternQwen2}, "Isolated", false), "I'm 12\n\n x", "I|'m| |1|2|\n\n| x"},
		{split(dict{"Regex": patternQwen2}, "Removed", true), "I'm 12", "I|'m| |1|2"},
		{split(dict{"Regex": `\p{Han}+|[a-z]+(?!\S)`}, "Isolated", false), "ab 好 cd!", "ab| |好| cd!"},
		{dict{"type": "Digits", "individual_digits": true}, "a12b", "a|1|2|b"},
		{dict{"type": "Digits", "individual_digits": false}, "a12b٣", "a|12|b|٣"},
		{dict{"type": "Punctuation"}, "a,b!?", "a|,|b|!|?"},
		{dict{"type": "Punctuation", "behavior": "Contiguous"}, "a!?b$", "a|!?|b|$"},
		{dict{"type": "Whitespace"}, "a_b, c!!", "a_b|,|c|!!"},
		{dict{"type": "WhitespaceSplit"}, "a,  b\nc", "a,|b|c"},
		{dict{"type": "CharDelimiterSplit", "delimiter": "|"}, "a", "a"},
		{meta("always", true), "a  b", "▁a|▁|▁b"},
		{meta("first", true), "a b", "▁a|▁b"},
		{meta("never", true), "a b", "a|▁b"},
		{meta("always", false), " a b", "▁a▁b"},
		{dict{"type": "Metaspace", "replacement": "_", "add_prefix_space": false}, "a b", "a|_b"},
		{dict{"type": "Metaspace", "replacement": "_", "add_prefix_space": true}, "a b", "_a|_b"},
		{dict{"type": "ByteLevel", "add_prefix_space": true}, "a b", " a| b"},
		{dict{"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}, "a b", " a b"},
		{dict{"type": "Sequence", "pretokenizers": []any{
			dict{"type": "ByteLevel", "add_prefix_space": false}, dict{"type": "Digits", "individual_digits": true},
		}}, "a 12é", "a|Ġ|1|2|Ã©"},
	} {
		p, err := preTokenizersOf(marshal(t, c.step))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		p.run(c.in, true, func(piece string) bool { got = append(got, piece); return true })
		if joined := strings.Join(got, "|"); joined != c.want {
			t.Errorf("%v on %q = %s, want %s", c.step, c.in, joined, c.want)
		}
	}
}

// "first" puts a mark in front of the text only, not after an added token.
func TestMetaspaceFirst(t *testing.T) {
	f := fixture{
		vocab:        []string{"▁", "a", "b", "▁a"},
		merges:       []any{"▁ a"},
		preTokenizer: dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
		added:        []map[string]any{{"id": 9, "content": "<x>"}},
	}
	tok := f.load(t)
	if got, want := contents(tok, tok.Encode("a<x>a", EncodeOptions{})), "▁a|<x>|a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecode(t *testing.T) {
	sp := smallSentencePiece()
	spaces := dict{"type": "Replace", "pattern": dict{"String": "▁"}, "content": " "}
	for _, c := range []struct {
		name    string
		decoder any
		tokens  string
		opts    DecodeOptions
		want    string
	}{
		{"llama", sp.decoder, "▁ab ▁a", DecodeOptions{}, "ab a"},
		{"special kept", sp.decoder, "<s> ▁a </s>", DecodeOptions{}, "<s> a</s>"},
		{"special skipped", sp.decoder, "<s> ▁a </s>", DecodeOptions{SkipSpecial: true}, "a"},
		{"bytes", sp.decoder, "a <0xE2> <0x82> <0xAC> b", DecodeOptions{}, "a€b"},
		{"half a character", sp.decoder, "<0xE2> <0x82> b <0x82> <0xE2>", DecodeOptions{}, "\uFFFDb\uFFFD\uFFFD"},
		{"valid beside invalid", sp.decoder, "<0x41> <0xFF> <0x42>", DecodeOptions{}, "A\uFFFDB"},
		{"byte order mark", sp.decoder, "<0xEF> <0xBB> <0xBF> <0xEF> <0xBB> <0xBF> a", DecodeOptions{}, "\ufeffa"},
		{"no decoder", nil, "▁ab a", DecodeOptions{}, "▁ab a"},
		{"metaspace", dict{"type": "Metaspace", "replacement": "▁"}, "▁▁ ▁a ▁", DecodeOptions{}, " a "},
		{"strip both", dict{"type": "Sequence", "decoders": []any{spaces, dict{"type": "Fuse"},
			dict{"type": "Strip", "content": " ", "start": 1, "stop": 2}}}, "▁▁ a ▁ ▁▁", DecodeOptions{}, " a "},
	} {
		f := sp
		f.decoder = c.decoder
		f.vocab = append(slices.Clone(sp.vocab), ".", "n", "'", "t")
		tok := f.load(t)
		var ids []int32
		for _, content := range strings.Fields(c.tokens) {
			id, ok := tok.TokenID(content)
			if !ok {
				t.Fatalf("%s: no token %q", c.name, content)
			}
			ids = append(ids, id)
		}
		if got := tok.Decode(ids, c.opts); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLossy(t *testing.T) {
	for in, want := range map[string]string{
		"plain é€🙂":                     "plain é€🙂",
		"\xff":                          "\uFFFD",
		"\xe2\x82":                      "\uFFFD",
		"\xe2\x82a":                     "\uFFFDa",
		"\xf0\x9f\x99":                  "\uFFFD",
		"\xed\xa0\x80":                  "\uFFFD\uFFFD\uFFFD", // a surrogate is three parts
		"\xc0\xaf":                      "\uFFFD\uFFFD",
		"\xf4\x90\x80\x80":              "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xe0\x80\x80":                  "\uFFFD\uFFFD\uFFFD",
		"\xf0\x80\x80\x80":              "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf1\x80\x80\xe1\x80\xc2b\x80": "\uFFFD\uFFFD\uFFFDb\uFFFD",
	} {
		if got := lossy(in); got != want {
			t.Errorf("lossy %q = %q, want %q", in, got, want)
		}
	}
}
