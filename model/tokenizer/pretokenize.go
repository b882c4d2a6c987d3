package tokenizer

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const knownPreTokenizers = "Sequence, Split, ByteLevel, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit"

// preTokenizer cuts a piece of text into smaller ones for emit, in order. If emit returns
// false it stops and returns false. atStart: the piece begins the whole text.
type preTokenizer func(piece string, atStart bool, emit emitter) bool

type emitter func(piece string, atStart bool) bool

// preTokenizers is the "pre_tokenizer" section as a list of steps.
type preTokenizers []preTokenizer

func (t *Tokenizer) readPreTokenizers(raw json.RawMessage) error {
	mapped := false // the section ends with the byte-level mapping
	err := components(raw, "pre_tokenizer", "pretokenizers", bounded(func(c *component) error {
		t.shrinkBy(c)
		if mapped = c.Type == "ByteLevel"; mapped {
			t.pre.addByteLevel(c)
			return nil
		}
		step, err := c.preTokenizer()
		t.pre = append(t.pre, step)
		return err
	}))
	// The last mapping is left to the model, so that text is not copied at twice
	// its size, unless the model looks at characters.
	if m := t.model; mapped && !m.byteFallback && m.prefix == "" && m.suffix == "" {
		m.rawBytes = true
		t.pre = t.pre[:len(t.pre)-1]
	}
	return err
}

// run calls emit with the final pieces; it stops with false when emit returns false.
func (p preTokenizers) run(text string, atStart bool, emit func(piece string) bool) bool {
	if text == "" {
		return true
	}
	if len(p) == 0 {
		return emit(text)
	}
	return p[0](text, atStart, func(piece string, atStart bool) bool { return p[1:].run(piece, atStart, emit) })
}

func mapBytes(piece string, atStart bool, emit emitter) bool {
	return emit(string(appendByteChars(make([]byte, 0, 2*len(piece)), piece)), atStart)
}

func (p *preTokenizers) addByteLevel(c *component) {
	if valueOr(c.AddPrefixSpace, true) {
		*p = append(*p, func(piece string, atStart bool, emit emitter) bool {
			if !strings.HasPrefix(piece, " ") {
				piece = " " + piece
			}
			return emit(piece, atStart)
		})
	}
	if valueOr(c.UseRegex, true) {
		*p = append(*p, fastStep(splitGPT2))
	}
	*p = append(*p, mapBytes)
}

func fastStep(split fastSplit) preTokenizer {
	return func(piece string, atStart bool, emit emitter) bool {
		for i := 0; i < len(piece); {
			end := split(piece, i)
			if !emit(piece[i:end], atStart && i == 0) {
				return false
			}
			i = end
		}
		return true
	}
}

func matchStep(matches func(string) iter.Seq2[int, int], b behavior, invert bool) preTokenizer {
	return func(piece string, atStart bool, emit emitter) bool {
		return splitSpans(piece, matches(piece), b, invert, func(start, end int) bool {
			return emit(piece[start:end], atStart && start == 0)
		})
	}
}

func runeStep(is func(rune) bool, b behavior) preTokenizer {
	return matchStep(func(s string) iter.Seq2[int, int] { return runeMatches(s, is) }, b, false)
}

func (c *component) preTokenizer() (preTokenizer, error) {
	switch c.Type {
	case "Metaspace":
		m, err := c.metaspace()
		return m.preTokenizer(), err
	case "Split":
		b, err := c.behavior()
		if err != nil {
			return nil, err
		}
		p, err := c.pattern()
		if fast := fastSplits[p.source]; fast != nil && b == isolated {
			return fastStep(fast), err
		}
		return matchStep(p.matches, b, c.Invert), err
	case "Digits":
		if c.Individual {
			return runeStep(unicode.IsNumber, isolated), nil
		}
		return runeStep(unicode.IsNumber, contiguous), nil
	case "Punctuation":
		if c.Behavior == "" {
			return runeStep(isPunctuation, isolated), nil
		}
		b, err := c.behavior()
		return runeStep(isPunctuation, b), err
	case "WhitespaceSplit":
		return runeStep(unicode.IsSpace, removed), nil
	case "Whitespace":
		p, err := compileRegex(`\w+|[^\w\s]+`, c.at)
		return matchStep(p.matches, removed, true), err
	case "CharDelimiterSplit":
		return matchStep(pattern{literal: c.Delimiter}.matches, removed, false), c.oneCharacter("delimiter", c.Delimiter)
	}
	return nil, c.refused(knownPreTokenizers)
}

// isPunctuation: ASCII punctuation and symbols, and Unicode punctuation.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || (r < utf8.RuneSelf && unicode.IsSymbol(r))
}
