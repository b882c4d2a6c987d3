package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const knownDecoders = "Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip"

// joining says how token texts become one text.
type joining int

const (
	joinSpaces   joining = iota // no decoder: a space between tokens
	joinPlain                   // one after the other
	joinBytes                   // tokens are byte-level characters
	joinFallback                // <0xNN> tokens are bytes
)

// decoder is the "decoder" component in three parts: what happens to each
// token, how tokens are joined, and what happens to the joined text. The known
// files fit this shape, and it can be streamed.
type decoder struct {
	perToken []func(token string, first bool) string
	join     joining
	onText   []textStep
}

func parseDecoder(raw json.RawMessage) (decoder, error) {
	var d decoder
	if isNull(raw) {
		return d, nil
	}
	d.join = joinPlain
	fused := false
	var grown growth
	err := sequence(raw, "decoder", "decoders", func(raw json.RawMessage, kind, at string) error {
		if err := grown.add(raw, kind, at); err != nil {
			return err
		}
		switch kind {
		case "ByteLevel", "ByteFallback":
			if fused || d.join != joinPlain {
				return fmt.Errorf("%s: %s after another ByteLevel, ByteFallback or Fuse is not supported", at, kind)
			}
			if d.join = joinFallback; kind == "ByteLevel" {
				d.join, fused = joinBytes, true
			}
			return nil
		case "Fuse":
			fused = true
			return nil
		}
		if fused {
			step, err := parseTextStep(raw, kind, at)
			d.onText = append(d.onText, step)
			return err
		}
		if d.join != joinPlain {
			return fmt.Errorf("%s: %s between ByteFallback and Fuse is not supported; put Fuse before it", at, kind)
		}
		step, err := parseTokenStep(raw, kind, at)
		d.perToken = append(d.perToken, step)
		return err
	})
	return d, err
}

func parseTokenStep(raw json.RawMessage, kind, at string) (func(string, bool) string, error) {
	switch kind {
	case "Metaspace":
		m, err := parseMetaspaceFields(raw, at)
		return m.decode, err
	case "Replace":
		replace, _, err := parseReplace(raw, at)
		return func(s string, _ bool) string { return replace(s) }, err
	case "Strip":
		step, err := parseTextStep(raw, kind, at)
		return func(s string, _ bool) string { return step.apply(s) }, err
	}
	return nil, refused(at, kind, knownDecoders)
}

// token applies the per-token steps.
func (d *decoder) token(content string, first bool) string {
	for _, step := range d.perToken {
		content = step(content, first)
	}
	return content
}

// text joins token texts and applies the steps on the whole.
func (d *decoder) text(contents []string) string {
	tokens := make([]string, len(contents))
	for i, c := range contents {
		tokens[i] = d.token(c, i == 0)
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
		text = lossy(string(b))
	case joinFallback:
		text = joinByteRuns(tokens)
	}
	for _, step := range d.onText {
		text = step.apply(text)
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
			out.WriteString(strings.TrimPrefix(lossy(string(run)), byteOrderMark))
			run = run[:0]
		}
		if !ok {
			out.WriteString(tok)
		}
	}
	return out.String()
}

const byteOrderMark = "\uFEFF"

// fallbackByte reads <0xNN>.
func fallbackByte(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}

// parseTextStep reads a Replace or Strip that works on joined text.
func parseTextStep(raw json.RawMessage, kind, at string) (textStep, error) {
	switch kind {
	case "Replace":
		_, f, err := parseReplace(raw, at)
		if err != nil {
			return textStep{}, err
		}
		if f.Pattern.String == nil {
			return textStep{}, fmt.Errorf("%s: Replace with a Regex after Fuse is not supported: it cannot be streamed", at)
		}
		if len(*f.Pattern.String) > maxTextPattern {
			return textStep{}, fmt.Errorf("%s.pattern.String has %d bytes, more than %d; shorten it", at, len(*f.Pattern.String), maxTextPattern)
		}
		return textStep{from: *f.Pattern.String, to: f.Content}, nil
	case "Strip":
		var f struct {
			Content string `json:"content"`
			Start   int    `json:"start"`
			Stop    int    `json:"stop"`
		}
		if err := decodeJSON(raw, &f); err != nil {
			return textStep{}, fmt.Errorf("%s: %w", at, err)
		}
		if utf8.RuneCountInString(f.Content) != 1 {
			return textStep{}, fmt.Errorf("%s.content: %s is not one character", at, clip(f.Content))
		}
		if f.Start < 0 || f.Stop < 0 || f.Start > maxStrip || f.Stop > maxStrip {
			return textStep{}, fmt.Errorf("%s: start %d and stop %d must be between 0 and %d", at, f.Start, f.Stop, maxStrip)
		}
		return textStep{strip: f.Content, start: f.Start, stop: f.Stop}, nil
	}
	return textStep{}, refused(at, kind+" after Fuse", "Replace, Strip")
}
