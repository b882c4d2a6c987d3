package tokenizer

import (
	"encoding/json"
	"fmt"
)

// maxGrowth bounds how many times longer the steps of one pipeline section may
// make a text. Real files reach 3; a hostile chain of replacements doubles
// with every step.
const maxGrowth = 64

// growth accumulates the factors of the steps of a section.
type growth int

// add takes a step into account.
func (g *growth) add(raw json.RawMessage, kind, at string) error {
	factor := 1
	switch kind {
	case "ByteLevel":
		factor = 2 // bytes from 0x80 on have two-byte characters
	case "Prepend":
		var f struct {
			Prepend string `json:"prepend"`
		}
		if err := decodeJSON(raw, &f); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if len(f.Prepend) > maxGrowth {
			return fmt.Errorf("%s.prepend has %d bytes, more than %d; shorten it", at, len(f.Prepend), maxGrowth)
		}
	case "Replace":
		var f fileReplace
		if err := decodeJSON(raw, &f); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		matched := 1
		if f.Pattern.String != nil {
			matched = max(1, len(*f.Pattern.String))
		}
		factor = max(1, (len(f.Content)+matched-1)/matched)
	}
	*g = max(1, *g) * growth(min(factor, maxGrowth+1))
	if *g > maxGrowth {
		return fmt.Errorf("%s: with this step a text may become %d times longer, but at most %d times is allowed; shorten the replacements", at, *g, maxGrowth)
	}
	return nil
}
