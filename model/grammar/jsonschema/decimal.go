package jsonschema

import (
	"strconv"
	"strings"
)

// maxDigits bounds the digits of a number in a schema, exponents written out.
const maxDigits = 1_000

// decimal is a number as written without exponent: no leading zeros before the
// point, no trailing ones behind it.
type decimal struct {
	negative bool   // zero is not
	whole    string // "0" at least
	fraction string // may be empty
}

// parseDecimal writes out a JSON number. ok is false when it has too many digits.
func parseDecimal(text string) (d decimal, ok bool) {
	text, d.negative = strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || n > maxDigits || n < -maxDigits {
			if strings.Trim(text[:i], "0.") == "" {
				n = 0
			} else {
				return d, false
			}
		}
		text, exponent = text[:i], n
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if exponent > 0 {
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	} else if exponent < 0 {
		whole = strings.Repeat("0", max(0, -exponent-len(whole))) + whole
		cut := len(whole) + exponent
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	d.whole, d.fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if d.whole == "" {
		d.whole = "0"
		d.negative = d.negative && d.fraction != ""
	}
	return d, len(d.whole)+len(d.fraction) <= maxDigits
}

func (d decimal) isZero() bool { return d.whole == "0" && d.fraction == "" }
