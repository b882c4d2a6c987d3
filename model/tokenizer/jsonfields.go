package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

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
