package tokenizer

import (
	"os"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

func benchTokenizer(b *testing.B, model string) *Tokenizer {
	tok, err := LoadFS(os.DirFS(conformance.Path(b, "tokenizers", model)))
	if err != nil {
		b.Fatal(err)
	}
	return tok
}

// benchText is mixed text of about 1 MiB from the conformance vectors.
func benchText(b *testing.B) string {
	var all strings.Builder
	vectors := conformance.Lines[conformance.Text](b, conformance.Path(b, "tokenizers", "llama3.vectors.jsonl"))
	for all.Len() < 1<<20 {
		for _, v := range vectors {
			all.WriteString(v.Text)
			all.WriteByte('\n')
		}
	}
	return all.String()
}

const englishLine = "The quick brown fox jumps over the lazy dog while 42 engineers argue about tokenizers, again and again. "

func BenchmarkEncode(b *testing.B) {
	mixed := benchText(b)
	texts := map[string]string{
		"english": strings.Repeat(englishLine, 1<<20/len(englishLine)),
		"mixed":   mixed,
		"oneword": strings.Repeat("abcdefghij", 1<<20/10),
	}
	for _, model := range []string{"gpt2", "llama3", "qwen3", "llama2"} {
		tok := benchTokenizer(b, model)
		for _, name := range []string{"english", "mixed", "oneword"} {
			b.Run(model+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(texts[name])))
				b.ReportAllocs()
				for b.Loop() {
					tok.Encode(texts[name], EncodeOptions{AddSpecial: true, ParseSpecial: true})
				}
			})
		}
	}
}

func BenchmarkEncodeShort(b *testing.B) {
	tok := benchTokenizer(b, "llama3")
	b.SetBytes(int64(len(englishLine)))
	b.ReportAllocs()
	for b.Loop() {
		tok.Encode(englishLine, EncodeOptions{AddSpecial: true})
	}
}

func BenchmarkStreamPush(b *testing.B) {
	for _, model := range []string{"llama3", "llama2"} {
		b.Run(model, func(b *testing.B) {
			tok := benchTokenizer(b, model)
			ids := tok.Encode(benchText(b), EncodeOptions{})
			s := tok.NewStream(DecodeOptions{SkipSpecial: true})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Push(ids[i%len(ids)])
				i++
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := benchTokenizer(b, "llama3")
	ids := tok.Encode(benchText(b), EncodeOptions{})
	b.ReportAllocs()
	for b.Loop() {
		tok.Decode(ids, DecodeOptions{})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, model := range []string{"llama3", "llama2", "gpt2"} {
		b.Run(model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchTokenizer(b, model)
			}
		})
	}
}
