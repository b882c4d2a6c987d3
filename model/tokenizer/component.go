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
// before the first is used, which is faster.
const matchesAtOnce = 1 << 18

// component is an element of a pipeline: its type, and the fields of all known types.
type component struct {
	at string // its place in the file, for errors

	Type           string                           `json:"type"`
	Pattern        filePattern                      `json:"pattern"`
	Content        string                           `json:"content"`
	Prepend        string                           `json:"prepend"`
	StripLeft      bool                             `json:"strip_left"`
	StripRight     bool                             `json:"strip_right"`
	AddPrefixSpace *bool                            `json:"add_prefix_space"`
	UseRegex       *bool                            `json:"use_regex"`
	Behavior       string                           `json:"behavior"`
	Invert         bool                             `json:"invert"`
	Individual     bool                             `json:"individual_digits"`
	Delimiter      string                           `json:"delimiter"`
	Replacement    *string                          `json:"replacement"`
	PrependScheme  *string                          `json:"prepend_scheme"`
	Split          *bool                            `json:"split"`
	Start          int                              `json:"start"`
	Stop           int                              `json:"stop"`
	Single         []templateItem                   `json:"single"`
	SpecialTokens  map[string]struct{ IDs []int64 } `json:"special_tokens"`
	Cls            []json.RawMessage                `json:"cls"`
	Sep            []json.RawMessage                `json:"sep"`
}

// decodeJSON decodes data strictly enough to name the wrong field.
func decodeJSON(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "the value"
		if wrong.Field != "" {
			what = fmt.Sprintf("field %q", wrong.Field)
		}
		return fmt.Errorf("%s has the wrong type (%s); use the model's original file", what, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, damaged)
	}
	return nil
}

// decodeField decodes a field that may be absent or null.
func decodeField(raw json.RawMessage, name string, into any) error {
	if isNull(raw) {
		return nil
	}
	if err := decodeJSON(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// isNull reports an absent or null JSON value.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// fail is an error at the component. The format goes on from its place in the file.
func (c *component) fail(format string, args ...any) error {
	return fmt.Errorf("%s%w", c.at, fmt.Errorf(format, args...))
}

// refused is the error for a type that is not supported.
func (c *component) refused(known string) error {
	return c.fail(": type %q is not supported; supported: %s", c.Type, known)
}

// oneCharacter checks the value of a field that must be a single character.
func (c *component) oneCharacter(field, value string) error {
	if utf8.RuneCountInString(value) != 1 {
		return c.fail(".%s: %s is not one character; use the model's original file", field, clip(value))
	}
	return nil
}

// components visits the elements of a section of tokenizer.json in order. Nested Sequence
// components, which have their elements under the name list, are flattened.
func components(raw json.RawMessage, at, list string, visit func(*component) error) error {
	if isNull(raw) {
		return nil
	}
	c := &component{at: at}
	if err := decodeJSON(raw, c); err != nil {
		return c.fail(": %w", err)
	}
	switch c.Type {
	case "":
		return c.fail(": field \"type\" is missing; use the model's original file")
	case "Sequence":
	default:
		return visit(c)
	}
	var fields map[string]json.RawMessage
	if err := decodeJSON(raw, &fields); err != nil {
		return c.fail(": %w", err)
	}
	var elements []json.RawMessage
	if err := decodeJSON(fields[list], &elements); err != nil {
		return c.fail(".%s: %w", list, err)
	}
	for i, element := range elements {
		if err := components(element, fmt.Sprintf("%s.%s[%d]", at, list, i), list, visit); err != nil {
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
type filePattern struct{ String, Regex *string }

func (c *component) pattern() (pattern, error) {
	literal, regex := c.Pattern.String, c.Pattern.Regex
	switch {
	case (literal == nil) == (regex == nil):
		return pattern{}, c.fail(".pattern must have exactly one of String and Regex; use the model's original file")
	case regex != nil:
		return compileRegex(*regex, c.at+".pattern.Regex")
	case *literal == "":
		return pattern{}, c.fail(".pattern.String is empty; it would match everywhere; use the model's original file")
	}
	return pattern{literal: *literal}, nil
}

func compileRegex(source, at string) (pattern, error) {
	re, err := regexp2.Compile(source)
	if err != nil {
		return pattern{}, fmt.Errorf("%s: %w; use the model's original file", at, err)
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
