package tokenizer

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const knownPreTokenizers = "Sequence, Split, ByteLevel, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit"

// preTokenizer cuts a piece of text into smaller ones and hands each to emit,
// in order, until that returns false; then it does so, too. atStart tells that
// the piece begins the whole text.
type preTokenizer func(piece string, atStart bool, emit emitter) bool

type emitter func(piece string, atStart bool) bool

// preTokenizers is the "pre_tokenizer" component as a list of steps.
type preTokenizers struct {
	steps []preTokenizer
	// rawBytes: the list ended with the byte-level mapping, which is left to
	// the model so that text is not copied at twice its size.
	rawBytes bool
}

func parsePreTokenizers(raw json.RawMessage) (preTokenizers, error) {
	var p preTokenizers
	pendingMap := false
	var grown growth
	err := sequence(raw, "pre_tokenizer", "pretokenizers", func(raw json.RawMessage, kind, at string) error {
		if err := grown.add(raw, kind, at); err != nil {
			return err
		}
		if pendingMap {
			p.steps = append(p.steps, mapBytes)
			pendingMap = false
		}
		if kind == "ByteLevel" {
			pendingMap = true
			steps, err := parseByteLevel(raw, at)
			p.steps = append(p.steps, steps...)
			return err
		}
		step, err := parsePreTokenizer(raw, kind, at)
		p.steps = append(p.steps, step)
		return err
	})
	p.rawBytes = pendingMap
	return p, err
}

// run hands the final pieces of text to emit until that returns false; then it
// does so, too.
func (p preTokenizers) run(text string, atStart bool, emit func(piece string) bool) bool {
	return p.from(0, text, atStart, emit)
}

func (p preTokenizers) from(step int, text string, atStart bool, emit func(piece string) bool) bool {
	if text == "" {
		return true
	}
	if step == len(p.steps) {
		return emit(text)
	}
	return p.steps[step](text, atStart, func(piece string, atStart bool) bool { return p.from(step+1, piece, atStart, emit) })
}

func mapBytes(piece string, atStart bool, emit emitter) bool {
	return emit(string(appendByteChars(make([]byte, 0, 2*len(piece)), piece)), atStart)
}

// fileByteLevel is a ByteLevel component; its offsets setting does not matter here.
type fileByteLevel struct {
	AddPrefixSpace *bool `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`
}

func parseByteLevel(raw json.RawMessage, at string) ([]preTokenizer, error) {
	var f fileByteLevel
	if err := decodeJSON(raw, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	var steps []preTokenizer
	if f.AddPrefixSpace == nil || *f.AddPrefixSpace {
		steps = append(steps, func(piece string, atStart bool, emit emitter) bool {
			if !strings.HasPrefix(piece, " ") {
				piece = " " + piece
			}
			return emit(piece, atStart)
		})
	}
	if f.UseRegex == nil || *f.UseRegex {
		steps = append(steps, fastStep(splitGPT2))
	}
	return steps, nil
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

func parsePreTokenizer(raw json.RawMessage, kind, at string) (preTokenizer, error) {
	var f struct {
		Pattern    filePattern `json:"pattern"`
		Behavior   string      `json:"behavior"`
		Invert     bool        `json:"invert"`
		Individual bool        `json:"individual_digits"`
		Delimiter  string      `json:"delimiter"`
	}
	if kind == "Metaspace" {
		return parseMetaspace(raw, at)
	}
	if err := decodeJSON(raw, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	switch kind {
	case "Split":
		b, err := parseBehavior(f.Behavior, at)
		if err != nil {
			return nil, err
		}
		p, err := f.Pattern.compile(at)
		if err != nil {
			return nil, err
		}
		if fast := fastSplits[p.source]; fast != nil && b == isolated {
			return fastStep(fast), nil
		}
		return matchStep(p.matches, b, f.Invert), nil
	case "Digits":
		if f.Individual {
			return runeStep(unicode.IsNumber, isolated), nil
		}
		return runeStep(unicode.IsNumber, contiguous), nil
	case "Punctuation":
		b := isolated
		if f.Behavior != "" {
			var err error
			if b, err = parseBehavior(f.Behavior, at); err != nil {
				return nil, err
			}
		}
		return runeStep(isPunctuation, b), nil
	case "WhitespaceSplit":
		return runeStep(unicode.IsSpace, removed), nil
	case "Whitespace":
		p, err := compileRegex(`\w+|[^\w\s]+`, at)
		return matchStep(p.matches, removed, true), err
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(f.Delimiter) != 1 {
			return nil, fmt.Errorf("%s.delimiter: %s is not one character", at, clip(f.Delimiter))
		}
		return matchStep(func(s string) iter.Seq2[int, int] { return literalMatches(s, f.Delimiter) }, removed, false), nil
	}
	return nil, refused(at, kind, knownPreTokenizers)
}

// isPunctuation: ASCII punctuation and symbols, and Unicode punctuation.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || (r < utf8.RuneSelf && unicode.IsSymbol(r))
}
