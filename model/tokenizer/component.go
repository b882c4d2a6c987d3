package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// regexLimit is the longest a regular expression of the file may work on one
// piece. The limit is there for patterns that backtrack exponentially.
const regexLimit = 5 * time.Second

// matchesAtOnce is the longest text in bytes of which all matches are found
// before the first is used, which is quicker.
const matchesAtOnce = 1 << 18

// component is one element of a pipeline as the file has it.
type component struct {
	Type string `json:"type"`
}

// decodeJSON decodes data strictly enough to name the wrong field.
func decodeJSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		var typeErr *json.UnmarshalTypeError
		if errors.As(err, &typeErr) && typeErr.Field != "" {
			return fmt.Errorf("field %q is a %s; it must be of type %s", typeErr.Field, typeErr.Value, typeErr.Type)
		}
		return err
	}
	return nil
}

// isNull reports an absent or null JSON value.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// componentType reads the "type" of a component.
func componentType(raw json.RawMessage, at string) (string, error) {
	var c component
	if err := decodeJSON(raw, &c); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	if c.Type == "" {
		return "", fmt.Errorf("%s: field \"type\" is missing", at)
	}
	return c.Type, nil
}

// refused is the error for a component that is not supported.
func refused(at, kind, known string) error {
	return fmt.Errorf("%s: type %q is not supported (supported: %s)", at, kind, known)
}

// sequence flattens nested Sequence components under the list name field into
// their elements, each with its place in the file.
func sequence(raw json.RawMessage, at, field string, visit func(raw json.RawMessage, kind, at string) error) error {
	if isNull(raw) {
		return nil
	}
	kind, err := componentType(raw, at)
	if err != nil {
		return err
	}
	if kind != "Sequence" {
		return visit(raw, kind, at)
	}
	var fields map[string]json.RawMessage
	if err := decodeJSON(raw, &fields); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	var list []json.RawMessage
	if err := decodeJSON(fields[field], &list); err != nil {
		return fmt.Errorf("%s.%s: %w", at, field, err)
	}
	for i, item := range list {
		if err := sequence(item, fmt.Sprintf("%s.%s[%d]", at, field, i), field, visit); err != nil {
			return err
		}
	}
	return nil
}

// pattern finds matches in text: a literal, a well-known regular expression
// with a hand-written splitter, or any other one.
type pattern struct {
	literal string
	regex   *regexp2.Regexp
	source  string // the regular expression, empty for a literal
}

// filePattern is {"String": …} or {"Regex": …}.
type filePattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func (f filePattern) compile(at string) (pattern, error) {
	switch {
	case f.String != nil && f.Regex == nil:
		if *f.String == "" {
			return pattern{}, fmt.Errorf("%s.pattern.String is empty; it would match everywhere", at)
		}
		return pattern{literal: *f.String}, nil
	case f.Regex != nil && f.String == nil:
		return compileRegex(*f.Regex, at+".pattern.Regex")
	}
	return pattern{}, fmt.Errorf("%s.pattern must have exactly one of String and Regex", at)
}

func compileRegex(source, at string) (pattern, error) {
	re, err := regexp2.Compile(source)
	if err != nil {
		return pattern{}, fmt.Errorf("%s: %w", at, err)
	}
	re.MatchTimeout = regexLimit
	return pattern{regex: re, source: source}, nil
}

// matches walks the byte ranges [start, end) of all matches, in order, empty
// ones left out. A search that exceeds regexLimit finds nothing more.
func (p pattern) matches(s string) iter.Seq2[int, int] {
	if p.regex == nil {
		return literalMatches(s, p.literal)
	}
	return func(yield func(int, int) bool) {
		if len(s) > matchesAtOnce {
			p.walk(s, yield)
			return
		}
		all, err := p.regex.FindAllStringIndex(s, -1)
		if err != nil {
			return
		}
		for _, m := range all {
			if m[0] < m[1] && !yield(m[0], m[1]) {
				return
			}
		}
	}
}

// walk finds one match after the other, so that a long text takes no memory for
// all of them, and a reader that stops ends the search.
func (p pattern) walk(s string, yield func(int, int) bool) {
	runes, at := 0, 0 // one place, in characters and in bytes
	place := func(to int) int {
		for ; runes < to; runes++ {
			_, n := utf8.DecodeRuneInString(s[at:])
			at += n
		}
		return at
	}
	// The error is the time limit's.
	_ = p.regex.FindRunesMatches([]rune(s), -1, func(m regexp2.MatchView) bool {
		first, n, _ := m.GroupRange(0)
		if n == 0 {
			return true
		}
		start := place(first)
		return yield(start, place(first+n))
	})
}
