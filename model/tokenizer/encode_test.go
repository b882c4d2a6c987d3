package tokenizer

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
)

// contents spells ids out as the files write them.
func contents(tok *Tokenizer, ids []int32) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, tok.content[id])
	}
	return strings.Join(parts, "|")
}

func TestEncodeByteLevel(t *testing.T) {
	tok := smallByteLevel().load(t)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"hello world", "hello|Ġworld"},
		{"hello  world", "hello|Ġ|Ġworld"},
		{"hellohell", "hello|hell"},
		{"é", "Ã|©"},
		{"\xff", "ï|¿|½"}, // invalid UTF-8 is U+FFFD
		{"a\n", "a|Ċ"},
		{"hello<|end|>hello", "hello|<|end|>|hello"},
		{"<think> world", "<think>|Ġworld"},
	} {
		if got := contents(tok, tok.Encode(c.text, EncodeOptions{ParseSpecial: true})); got != c.want {
			t.Errorf("encode %q = %s, want %s", c.text, got, c.want)
		}
	}
	plain := tok.Encode("<|end|><think>", EncodeOptions{})
	if got, want := contents(tok, plain), "<|||e|n|d|||>|<think>"; got != want {
		t.Errorf("special tokens as text: %s, want %s", got, want)
	}
}

func TestEncodeSentencePiece(t *testing.T) {
	tok := smallSentencePiece().load(t)
	for _, c := range []struct {
		text string
		add  bool
		want string
	}{
		{"", true, "<s>|</s>"},
		{"ab", false, "▁ab"},
		{"ab ab", true, "<s>|▁ab|▁ab|</s>"},
		{"  a", false, "▁▁|▁a"},
		{"abc", false, "▁ab|c"},
		{"é€", false, "▁|é|<0xE2>|<0x82>|<0xAC>"},
		{"a<s>b", false, "▁a|<s>|▁|b"},
	} {
		got := contents(tok, tok.Encode(c.text, EncodeOptions{AddSpecial: c.add, ParseSpecial: true}))
		if got != c.want {
			t.Errorf("encode %q = %s, want %s", c.text, got, c.want)
		}
	}
}

func TestUnknownCharacters(t *testing.T) {
	base := fixture{vocab: []string{"a", "?"}}
	for _, c := range []struct {
		name  string
		model dict
		want  string
	}{
		{"dropped", nil, "a|a"},
		{"one each", dict{"unk_token": "?"}, "a|?|?|a|?"},
		{"fused", dict{"unk_token": "?", "fuse_unk": true}, "a|?|a|?"},
		{"fallback without byte tokens", dict{"unk_token": "?", "byte_fallback": true}, "a|?|?|a|?"},
	} {
		f := base
		f.model = c.model
		tok := f.load(t)
		if got := contents(tok, tok.Encode("axyaz", EncodeOptions{})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestIgnoreMerges(t *testing.T) {
	f := fixture{vocab: append(byteAlphabet(), "abc", "ab"), merges: []any{"a b"}, preTokenizer: byteLevel}
	for ignore, want := range map[bool]string{false: "ab|c", true: "abc"} {
		f.model = dict{"ignore_merges": ignore}
		tok := f.load(t)
		if got := contents(tok, tok.Encode("abc", EncodeOptions{})); got != want {
			t.Errorf("ignore_merges %v: %s, want %s", ignore, got, want)
		}
	}
}

func TestSubwordPrefixAndSuffix(t *testing.T) {
	f := fixture{
		vocab: []string{"a", "##b", "##c</w>", "a##b", "ab", "abc</w>"}, merges: []any{"a ##b", "ab ##c</w>"},
		model: dict{"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"},
	}
	tok := f.load(t)
	if got, want := contents(tok, tok.Encode("abc", EncodeOptions{})), "abc</w>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAddedTokenFlags(t *testing.T) {
	f := fixture{
		vocab: strings.Split("a b c d e x ▁ _ . \u00a0", " "), model: dict{"unk_token": "_"},
		normalizer: dict{"type": "Lowercase"},
		added: []map[string]any{
			{"id": 20, "content": "[L]", "lstrip": true},
			{"id": 21, "content": "[R]", "rstrip": true},
			{"id": 22, "content": "cat", "single_word": true},
			{"id": 23, "content": "NORM", "normalized": true},
			{"id": 24, "content": "[R]x"},
		},
	}
	tok := f.load(t)
	for _, c := range []struct{ text, want string }{
		{"a  [L]", "a|[L]"},
		{"a[L] b", "a|[L]|_|b"},
		{"[R]  b", "[R]|b"},
		{"[R]x", "[R]x"}, // the longest
		{"[R]  [L]", "[R]|[L]"},
		{"cat", "cat"},
		{"a.cat.b", "a|.|cat|.|b"},
		{"acat", "a|c|a|_"},
		{"cat1", "c|a|_|_"},
		{"aNoRmb", "a|NORM|b"}, // found in the lower-cased text
	} {
		if got := contents(tok, tok.Encode(c.text, EncodeOptions{})); got != c.want {
			t.Errorf("encode %q = %s, want %s", c.text, got, c.want)
		}
	}
}

// A megabyte without any border must not take quadratic time: that would be
// 10^12 steps, far beyond the limit on any machine.
func TestLongWord(t *testing.T) {
	for name, f := range map[string]fixture{"byte level": smallByteLevel(), "SentencePiece": smallSentencePiece()} {
		tok := f.load(t)
		for unit, size := range map[string]int{"hello": 1 << 20, " ": 1 << 16, "abc": 1 << 16} {
			text := strings.Repeat(unit, size/len(unit))
			start := measure.CPUTime()
			ids := tok.Encode(text, EncodeOptions{})
			if took := measure.CPUTime() - start; took > time.Minute {
				t.Errorf("%s: %q repeated took %v", name, unit, took)
			}
			if got := tok.Decode(ids, DecodeOptions{}); got != text {
				t.Errorf("%s: %q repeated does not round-trip", name, unit)
			}
		}
	}
}

func TestConcurrentEncode(t *testing.T) {
	tok := smallByteLevel().load(t)
	texts := []string{"hello world", "hell", "é hello", strings.Repeat(" world", 50)}
	var want [][]int32
	for _, text := range texts {
		want = append(want, tok.Encode(text, EncodeOptions{}))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 400 {
				k := i % len(texts)
				if got := tok.Encode(texts[k], EncodeOptions{}); !slices.Equal(got, want[k]) {
					t.Errorf("encode %q = %v, want %v", texts[k], got, want[k])
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestWordCacheIsBounded(t *testing.T) {
	tok := smallByteLevel().load(t)
	var text strings.Builder
	for i := range cachedWords + 1000 {
		text.WriteString(" w" + strings.Repeat("x", i%7) + string(rune('一'+i)))
	}
	first := tok.Encode(text.String(), EncodeOptions{})
	s := tok.scratch.get()
	if n := len(s.cache); n > cachedWords {
		t.Errorf("the cache holds %d words, more than %d", n, cachedWords)
	}
	tok.scratch.put(s)
	if !slices.Equal(first, tok.Encode(text.String(), EncodeOptions{})) {
		t.Error("a cached encoding differs")
	}
}

func TestEncodeAllocations(t *testing.T) {
	tok := smallByteLevel().load(t)
	text := strings.Repeat("hello world ", 20)
	if n := testing.AllocsPerRun(50, func() { tok.Encode(text, EncodeOptions{}) }); n > 8 {
		t.Errorf("encoding known words makes %v allocations, want at most 8", n)
	}
}
