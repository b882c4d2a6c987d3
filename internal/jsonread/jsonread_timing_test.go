package jsonread

import (
	"strings"
	"testing"
)

// BenchmarkObject reads 1 MB of each kind of value.
func BenchmarkObject(b *testing.B) {
	const size = 1 << 20
	for name, part := range map[string]string{
		"text":     `"` + strings.Repeat("Once upon a time there was a \\\"cat\\\". ", 4) + `"`,
		"messages": `{"role":"user","content":"` + strings.Repeat("a word ", 20) + `"}`,
		"ids":      "12345",
		"objects":  "{}",
	} {
		text := []byte(`{"a":[` + strings.Repeat(part+",", size/(len(part)+1)) + `0]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Object(b.Context(), text, wide, nil, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
