package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

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

// fail is an error at the component. The format goes on from its place in the file.
func (c *component) fail(format string, args ...any) error {
	return fmt.Errorf("%s%w", c.at, fmt.Errorf(format, args...))
}

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

// clip quotes s for an error message, shortened.
func clip(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%.60q…", s)
	}
	return fmt.Sprintf("%q", s)
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
