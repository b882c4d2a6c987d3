package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"

	textunicode "golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
)

// streamFixtures are tokenizers with each shape of decoder.
func streamFixtures() map[string]fixture {
	piece := smallSentencePiece()
	withDecoder := func(decoder any) fixture {
		f := piece
		f.decoder = decoder
		return f
	}
	seq := func(list ...any) dict { return dict{"type": "Sequence", "decoders": list} }
	replace := func(from, to string) dict {
		return dict{"type": "Replace", "pattern": dict{"String": from}, "content": to}
	}
	strip := func(start, stop int) dict {
		return dict{"type": "Strip", "content": " ", "start": start, "stop": stop}
	}
	fuse := dict{"type": "Fuse"}
	return map[string]fixture{
		"byte level":          smallByteLevel(),
		"sentencepiece":       piece,
		"none":                withDecoder(nil),
		"fallback only":       withDecoder(dict{"type": "ByteFallback"}),
		"metaspace":           withDecoder(dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}),
		"metaspace never":     withDecoder(seq(dict{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}, dict{"type": "ByteFallback"})),
		"strip both ends":     withDecoder(seq(replace("▁", " "), dict{"type": "ByteFallback"}, fuse, strip(2, 3))),
		"strip each token":    withDecoder(seq(replace("▁", " "), strip(1, 1), fuse)),
		"replace behind fuse": withDecoder(seq(replace("▁", " "), fuse, replace("aba", "X"), replace("b ", "Y"), strip(0, 1))),
		"regex per token":     withDecoder(seq(dict{"type": "Replace", "pattern": dict{"Regex": "▁+"}, "content": " "}, fuse)),
	}
}

// drawIDs favours bytes of multi-byte characters, spaces and ids out of range.
func drawIDs(rt *rapid.T, tok *Tokenizer, label string) []int32 {
	interesting := []int32{-1, 1 << 30, 0, 1, 2, 300, 301}
	for _, text := range []string{"🙂€é", "\ufeff", "\xf0\x9f\xe2\x82\xc3\xed\xa0\x80"} {
		for i := range len(text) {
			if id := tok.model.fallback[text[i]]; id >= 0 {
				interesting = append(interesting, id)
			} else {
				interesting = append(interesting, tok.model.byteIDs[text[i]])
			}
		}
	}
	for _, content := range []string{"▁", "a", "b", "▁▁", "▁a", "ab", "Ġ", "hello", ".", "?", "'", "s", "n", "t", "<unk>"} {
		if id, ok := tok.TokenID(content); ok {
			interesting = append(interesting, id)
		}
	}
	id := rapid.OneOf(rapid.SampledFrom(interesting), rapid.Int32Range(-2, int32(tok.VocabSize()+2)))
	return rapid.SliceOfN(id, 0, 40).Draw(rt, label)
}

func drawOptions(rt *rapid.T) DecodeOptions {
	return DecodeOptions{SkipSpecial: rapid.Bool().Draw(rt, "skip")}
}

func TestStreamMatchesDecode(t *testing.T) {
	for name, f := range streamFixtures() {
		tok := f.load(t)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				checkStreamProperties(rt, tok, drawIDs(rt, tok, "ids"), drawOptions(rt))
			})
		})
	}
}

// fataler is what testing.TB and rapid.T share.
type fataler interface{ Fatalf(string, ...any) }

// checkStreamProperties: pushes and flush are the text; each push is whole
// characters and a beginning of every longer text.
func checkStreamProperties(tb fataler, tok *Tokenizer, ids []int32, opts DecodeOptions) {
	s := tok.NewStream(opts)
	got := ""
	for i, id := range ids {
		part := s.Push(id)
		if !utf8.ValidString(part) {
			tb.Fatalf("push %d of %v returned half a character: %q", i, ids, part)
		}
		got += part
		if held := len(s.held()); held > 256 {
			tb.Fatalf("after push %d of %v %d bytes are kept back", i, ids, held)
		}
	}
	got += s.Flush()
	want := plainDecode(tok, ids, opts)
	if got != want {
		tb.Fatalf("stream of %v with %+v\n got %q\nwant %q", ids, opts, got, want)
	}
	if whole := tok.Decode(ids, opts); whole != want {
		tb.Fatalf("%v with %+v\n got %q\nwant %q", ids, opts, whole, want)
	}
}

// plainDecode defines Decode: it joins the texts of all tokens, then applies the
// steps on the whole.
func plainDecode(tok *Tokenizer, ids []int32, opts DecodeOptions) string {
	d := &tok.decoder
	var tokens []string
	for _, id := range ids {
		if !tok.decodes(id, opts) {
			continue
		}
		text := tok.content[id]
		for _, step := range d.perToken {
			text = step(text, len(tokens) == 0)
		}
		tokens = append(tokens, text)
	}
	var text string
	switch d.join {
	case joinSpaces:
		text = strings.Join(tokens, " ")
	case joinPlain:
		text = strings.Join(tokens, "")
	case joinBytes:
		var b []byte
		for _, tok := range tokens {
			b = appendCharBytes(b, tok)
		}
		text = plainLossy(string(b))
	case joinFallback:
		text = joinByteRuns(tokens)
	}
	for _, s := range d.onText {
		if s.strip == "" {
			text = strings.ReplaceAll(text, s.from, s.to)
			continue
		}
		for i := 0; i < s.start && strings.HasPrefix(text, s.strip); i++ {
			text = text[len(s.strip):]
		}
		for i := 0; i < s.stop && strings.HasSuffix(text, s.strip); i++ {
			text = text[:len(text)-len(s.strip)]
		}
	}
	return text
}

// joinByteRuns concatenates tokens; each run of <0xNN> tokens is decoded as
// UTF-8, without a byte order mark at its start.
func joinByteRuns(tokens []string) string {
	var out strings.Builder
	var run []byte
	for i, tok := range tokens {
		b, ok := fallbackByte(tok)
		if ok {
			run = append(run, b)
		}
		if !ok || i == len(tokens)-1 {
			out.WriteString(strings.TrimPrefix(plainLossy(string(run)), byteOrderMark))
			run = run[:0]
		}
		if !ok {
			out.WriteString(tok)
		}
	}
	return out.String()
}

// plainLossy is lossy by the decoder of x/text, which replaces maximal parts.
func plainLossy(s string) string {
	text, _ := textunicode.UTF8.NewDecoder().String(s)
	return text
}

func (s *Stream) held() string {
	all := string(s.run.pending[:s.run.n])
	for _, st := range s.states {
		all += st.held
	}
	return all
}

// A continuation is the text of Decode after the context's final text.
func TestStreamAfterContext(t *testing.T) {
	for name, f := range streamFixtures() {
		tok := f.load(t)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				context, ids, opts := drawIDs(rt, tok, "context"), drawIDs(rt, tok, "ids"), drawOptions(rt)
				before := tok.NewStream(opts)
				final := ""
				for _, id := range context {
					final += before.Push(id)
				}
				s := tok.NewStreamAfter(context, opts)
				for _, id := range ids {
					final += s.Push(id)
				}
				final += s.Flush()
				if want := plainDecode(tok, append(context, ids...), opts); final != want {
					rt.Fatalf("%v then %v with %+v\n got %q\nwant %q", context, ids, opts, final, want)
				}
			})
		})
	}
}

func TestStreamGolden(t *testing.T) {
	piece := smallSentencePiece().load(t)
	id := func(content string) int32 {
		id, ok := piece.TokenID(content)
		if !ok {
			t.Fatalf("no token %q", content)
		}
		return id
	}
	euro := []int32{id("<0xE2>"), id("<0x82>"), id("<0xAC>")}
	s := piece.NewStream(DecodeOptions{SkipSpecial: true})
	for i, step := range []struct {
		id   int32
		want string
	}{
		{id("<s>"), ""}, {id("▁ab"), "ab"}, {id("▁a"), " a"}, {euro[0], ""}, {euro[1], ""}, {euro[2], "€"},
		{euro[0], ""}, {id("b"), "\uFFFDb"}, {euro[0], ""}, {euro[0], "\uFFFD"},
	} {
		if got := s.Push(step.id); got != step.want {
			t.Errorf("push %d returned %q, want %q", i, got, step.want)
		}
	}
	if got := s.Flush(); got != "\uFFFD" {
		t.Errorf("flush returned %q", got)
	}
	after := piece.NewStreamAfter([]int32{id("<s>"), id("a"), euro[0]}, DecodeOptions{SkipSpecial: true})
	if got := after.Push(euro[1]) + after.Push(euro[2]) + after.Push(id("▁a")); got != "€ a" {
		t.Errorf("continuation is %q, want %q", got, "€ a")
	}
	onlyBOS := piece.NewStreamAfter([]int32{id("<s>")}, DecodeOptions{SkipSpecial: true})
	if got := onlyBOS.Push(id("▁a")); got != "a" {
		t.Errorf("text after BOS alone begins with %q, want %q", got, "a")
	}
}

func TestStreamPushDoesNotAllocate(t *testing.T) {
	tok := smallByteLevel().load(t)
	ids := tok.Encode("hello world hello", EncodeOptions{})
	s := tok.NewStream(DecodeOptions{SkipSpecial: true})
	if n := testing.AllocsPerRun(100, func() {
		for _, id := range ids {
			s.Push(id)
		}
	}); n > 0 {
		t.Errorf("pushing whole characters makes %v allocations, want none", n)
	}
}
