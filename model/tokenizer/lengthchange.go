package tokenizer

const (
	// maxGrowth bounds how many times longer the steps of one pipeline section may make a
	// text. Real files reach 3; a hostile chain of replacements doubles with every step.
	maxGrowth = 64
	// maxShrink is the most that steps may shorten a text for LongestToken to have a bound.
	maxShrink = 1 << 10
)

// bounded refuses a section before visit sees a component that may make a text too long.
func bounded(visit func(*component) error) func(*component) error {
	grown := 1
	return func(c *component) error {
		if len(c.Prepend) > maxGrowth && c.Type == "Prepend" {
			return c.fail(".prepend has %d bytes; at most %d are allowed; use the model's original file", len(c.Prepend), maxGrowth)
		}
		grown *= min(c.grows(), maxGrowth+1)
		if grown > maxGrowth {
			return c.fail(": the normalizer may make a text %d times longer; at most %d times is allowed; use the model's original file", grown, maxGrowth)
		}
		return visit(c)
	}
}

// grows returns how many times longer the component can make a text.
func (c *component) grows() int {
	switch c.Type {
	case "ByteLevel":
		return 2 // bytes from 0x80 on have two-byte characters
	case "Replace":
		matched := 1
		if c.Pattern.String != nil {
			matched = max(1, len(*c.Pattern.String))
		}
		return max(1, ratio(len(c.Content), matched))
	}
	return 1
}

// shrinks returns how many times shorter the component can make a text; 0: no bound.
func (c *component) shrinks() int {
	switch c.Type {
	case "NFD", "Lowercase":
		return 3
	case "NFC", "NFKC", "NFKD":
		return 4
	case "Strip", "StripAccents", "Whitespace", "WhitespaceSplit", "CharDelimiterSplit":
		return 0
	case "Split", "Punctuation":
		if c.Behavior == "Removed" {
			return 0
		}
	case "Replace":
		if c.Pattern.String == nil || c.Content == "" {
			return 0
		}
		return max(1, ratio(len(*c.Pattern.String), len(c.Content)))
	}
	return 1
}

// ratio is a/b, rounded up.
func ratio(a, b int) int { return (a + b - 1) / b }

// shrinkBy adds a component to those that may make a text shorter.
func (t *Tokenizer) shrinkBy(c *component) {
	if t.shrink *= c.shrinks(); t.shrink > maxShrink {
		t.shrink = 0
	}
}
