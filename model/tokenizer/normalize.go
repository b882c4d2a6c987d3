package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const knownNormalizers = "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, ByteLevel"

// normalizer rewrites text before it is split.
type normalizer func(string) string

// normalizers are those without settings.
var normalizers = map[string]normalizer{
	"NFC":          func(s string) string { return normalForm(norm.NFC, s) },
	"NFD":          func(s string) string { return normalForm(norm.NFD, s) },
	"NFKC":         func(s string) string { return normalForm(norm.NFKC, s) },
	"NFKD":         func(s string) string { return normalForm(norm.NFKD, s) },
	"Lowercase":    lowercase,
	"StripAccents": stripAccents,
	"ByteLevel":    func(s string) string { return string(appendByteChars(nil, s)) },
}

func (t *Tokenizer) readNormalizers(raw json.RawMessage) error {
	return components(raw, "normalizer", "normalizers", bounded(func(c *component) error {
		step, err := c.normalizer()
		t.normalize = append(t.normalize, step)
		t.shrinkBy(c)
		if c.Type == "Prepend" || c.Type == "Replace" {
			t.written += c.Prepend + c.Content
		}
		return err
	}))
}

func (c *component) normalizer() (normalizer, error) {
	switch c.Type {
	case "Strip":
		return func(s string) string {
			if c.StripLeft {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if c.StripRight {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return c.Prepend + s
		}, nil
	case "Replace":
		return c.replacement()
	}
	step, ok := normalizers[c.Type]
	if !ok {
		return nil, c.refused(knownNormalizers)
	}
	return step, nil
}

// replacement returns what a Replace, a normalizer or a decoder, does.
func (c *component) replacement() (normalizer, error) {
	p, err := c.pattern()
	if p.regex == nil {
		return func(s string) string { return strings.ReplaceAll(s, p.literal, c.Content) }, err
	}
	return func(s string) string {
		var b strings.Builder
		last := 0
		for start, end := range p.matches(s) {
			b.WriteString(s[last:start])
			b.WriteString(c.Content)
			last = end
		}
		b.WriteString(s[last:])
		return b.String()
	}, err
}

// normalizeAround normalizes a text with plain parts, and finds these parts in
// the result. For that it inserts a noncharacter, which no normalizer changes,
// before each mark in them, and removes it afterwards.
func (t *Tokenizer) normalizeAround(text string, where specials) (string, specials) {
	if len(where.plain) == 0 {
		return t.normal(text), where
	}
	guard := rune(0xFDD0)
	for guard <= 0xFDEF && strings.ContainsRune(text, guard) {
		guard++
	}
	if guard > 0xFDEF { // such a text has no special token at all
		return t.normal(text), specials{}
	}
	var b strings.Builder
	var of []int // how many characters each guarded mark becomes
	done := 0
	for _, r := range where.plain {
		for i, c := range text[r[0]:r[1]] {
			if slices.Contains(t.marks, c) {
				b.WriteString(text[done : r[0]+i])
				b.WriteRune(guard)
				of = append(of, max(1, t.spread[c]))
				done = r[0] + i
			}
		}
	}
	b.WriteString(text[done:])
	normal := t.normal(b.String())
	out := specials{parse: where.parse}
	b.Reset()
	after := 0 // characters to come that a mark became
	seen := 0
	for i, c := range normal {
		if c == guard {
			after = of[min(seen, len(of)-1)]
			seen++
			continue
		}
		if after > 0 {
			out.plain = append(out.plain, [2]int{b.Len(), b.Len() + utf8.RuneLen(c)})
			after--
		}
		b.WriteString(normal[i : i+utf8.RuneLen(c)])
	}
	return b.String(), out
}

// lowercase maps each character for itself, without the final-sigma rule.
func lowercase(s string) string {
	if strings.ContainsRune(s, 'İ') {
		s = strings.ReplaceAll(s, "İ", "i\u0307")
	}
	return strings.Map(unicode.ToLower, s)
}

func stripAccents(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return r
	}, s)
}
