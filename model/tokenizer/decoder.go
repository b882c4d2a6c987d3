package tokenizer

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

const knownDecoders = "Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip"

// joining is the way in which token texts become one text.
type joining int

const (
	joinSpaces   joining = iota // no decoder: a space between tokens
	joinPlain                   // one after the other
	joinBytes                   // tokens are byte-level characters
	joinFallback                // <0xNN> tokens are bytes
)

// decoder is the "decoder" section in three parts: what happens to each token,
// how tokens are joined, and what happens to the joined text. The known files
// fit this shape, and it can be streamed.
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
	err := components(raw, "decoder", "decoders", bounded(func(c *component) error {
		switch c.Type {
		case "ByteLevel", "ByteFallback":
			if fused || d.join != joinPlain {
				return c.fail(": %s after another ByteLevel, ByteFallback or Fuse is not supported", c.Type)
			}
			if d.join = joinFallback; c.Type == "ByteLevel" {
				d.join, fused = joinBytes, true
			}
			return nil
		case "Fuse":
			fused = true
			return nil
		}
		if fused {
			step, err := c.textStep()
			d.onText = append(d.onText, step)
			return err
		}
		if d.join != joinPlain {
			return c.fail(": %s between ByteFallback and Fuse is not supported; put Fuse before it", c.Type)
		}
		step, err := c.tokenStep()
		d.perToken = append(d.perToken, step)
		return err
	}))
	return d, err
}

func (c *component) tokenStep() (func(string, bool) string, error) {
	switch c.Type {
	case "Metaspace":
		m, err := c.metaspace()
		return m.decode, err
	case "Replace":
		replace, err := c.replacement()
		return func(s string, _ bool) string { return replace(s) }, err
	case "Strip":
		step, err := c.textStep()
		return func(s string, _ bool) string {
			st := step.begin()
			return st.push(&step, s) + st.end(&step)
		}, err
	}
	return nil, c.refused(knownDecoders)
}

// textStep returns a Replace or Strip that works on joined text.
func (c *component) textStep() (textStep, error) {
	switch c.Type {
	case "Replace":
		p, err := c.pattern()
		switch {
		case err != nil:
			return textStep{}, err
		case p.regex != nil:
			return textStep{}, c.fail(": Replace with a Regex after Fuse is not supported: it cannot be streamed")
		case len(p.literal) > maxTextPattern:
			return textStep{}, c.fail(".pattern.String has %d bytes; at most %d are allowed; use the model's original file", len(p.literal), maxTextPattern)
		}
		return textStep{from: p.literal, to: c.Content}, nil
	case "Strip":
		if c.Start < 0 || c.Stop < 0 || c.Start > maxStrip || c.Stop > maxStrip {
			return textStep{}, c.fail(": start %d and stop %d must be between 0 and %d; use the model's original file", c.Start, c.Stop, maxStrip)
		}
		return textStep{strip: c.Content, start: c.Start, stop: c.Stop}, c.oneCharacter("content", c.Content)
	}
	return textStep{}, c.fail(": type %q after Fuse is not supported; supported: Replace, Strip", c.Type)
}

// render appends the bytes that a token stands for and returns its flags for decoding.
func (d *decoder) render(dst []byte, content string, first bool) ([]byte, tokenFlag) {
	for _, step := range d.perToken {
		content = step(content, first)
	}
	start, flags := len(dst), tokenFlag(0)
	if b, ok := fallbackByte(content); ok && d.join == joinFallback {
		dst, flags = append(dst, b), flagFallback
	} else if d.join == joinBytes {
		dst = appendCharBytes(dst, content)
	} else {
		dst = append(dst, content...)
	}
	if utf8.Valid(dst[start:]) {
		flags |= flagWhole
	}
	return dst, flags
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

// DecodeOptions are options of Decode. The zero value returns the text of every token.
type DecodeOptions struct {
	// SkipSpecial leaves special tokens out.
	SkipSpecial bool
}

// Decode returns the text of ids. Unknown ids, negative and out of range ones
// included, are left out. Bytes that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(ids []int32, opts DecodeOptions) string {
	s := t.NewStream(opts)
	var text strings.Builder
	text.Grow(4 * len(ids))
	for _, id := range ids {
		text.WriteString(s.Push(id))
	}
	text.WriteString(s.Flush())
	return text.String()
}

// decodes reports whether id has a part in decoded text.
func (t *Tokenizer) decodes(id int32, opts DecodeOptions) bool {
	f := t.flag(id)
	return f&flagKnown != 0 && !(opts.SkipSpecial && f&flagSpecial != 0)
}
