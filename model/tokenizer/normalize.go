package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const knownNormalizers = "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, ByteLevel"

// normalizer rewrites text before it is split.
type normalizer func(string) string

// readNormalizers reads the "normalizer" component.
func (t *Tokenizer) readNormalizers(raw json.RawMessage) error {
	var grown growth
	return sequence(raw, "normalizer", "normalizers", func(raw json.RawMessage, kind, at string) error {
		if err := grown.add(raw, kind, at); err != nil {
			return err
		}
		step, err := parseNormalizer(raw, kind, at)
		if err != nil {
			return err
		}
		t.normalize = append(t.normalize, step)
		var writes struct{ Prepend, Content string }
		if kind == "Prepend" || kind == "Replace" {
			err = decodeJSON(raw, &writes)
		}
		t.written += writes.Prepend + writes.Content
		return err
	})
}

func parseNormalizer(raw json.RawMessage, kind, at string) (normalizer, error) {
	switch kind {
	case "NFC":
		return func(s string) string { return normalForm(norm.NFC, s) }, nil
	case "NFD":
		return func(s string) string { return normalForm(norm.NFD, s) }, nil
	case "NFKC":
		return func(s string) string { return normalForm(norm.NFKC, s) }, nil
	case "NFKD":
		return func(s string) string { return normalForm(norm.NFKD, s) }, nil
	case "Lowercase":
		return lowercase, nil
	case "StripAccents":
		return stripAccents, nil
	case "ByteLevel":
		return func(s string) string { return string(appendByteChars(nil, s)) }, nil
	case "Strip":
		return parseStripNormalizer(raw, at)
	case "Prepend":
		var f struct {
			Prepend string `json:"prepend"`
		}
		if err := decodeJSON(raw, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return func(s string) string {
			if s == "" {
				return s
			}
			return f.Prepend + s
		}, nil
	case "Replace":
		replace, _, err := parseReplace(raw, at)
		return normalizer(replace), err
	}
	return nil, refused(at, kind, knownNormalizers)
}

func parseStripNormalizer(raw json.RawMessage, at string) (normalizer, error) {
	var f struct {
		Left  bool `json:"strip_left"`
		Right bool `json:"strip_right"`
	}
	if err := decodeJSON(raw, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return func(s string) string {
		if f.Left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if f.Right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}, nil
}

// fileReplace is a Replace component, a normalizer and a decoder.
type fileReplace struct {
	Pattern filePattern `json:"pattern"`
	Content string      `json:"content"`
}

// parseReplace returns the replacement as a function; literal is its pattern
// where that is no regular expression.
func parseReplace(raw json.RawMessage, at string) (replace func(string) string, f fileReplace, err error) {
	if err := decodeJSON(raw, &f); err != nil {
		return nil, f, fmt.Errorf("%s: %w", at, err)
	}
	p, err := f.Pattern.compile(at)
	if err != nil {
		return nil, f, err
	}
	if p.regex == nil {
		return func(s string) string { return strings.ReplaceAll(s, p.literal, f.Content) }, f, nil
	}
	return func(s string) string {
		var b strings.Builder
		last := 0
		for start, end := range p.matches(s) {
			b.WriteString(s[last:start])
			b.WriteString(f.Content)
			last = end
		}
		b.WriteString(s[last:])
		return b.String()
	}, f, nil
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
