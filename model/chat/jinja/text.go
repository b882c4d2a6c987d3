package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// str is Python's str(v): the text that printing shows.
func (rt *runtime) str(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case *Undefined:
		return ""
	}
	w := &writer{rt: rt, item: ", ", key: ": "}
	return w.text(v)
}

// plain is str for values that need no runtime: numbers, strings, hash keys.
func plain(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case longInt:
		return string(x)
	case nil:
		return "None"
	case bool:
		if x {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return floatRepr(x)
	}
	return fmt.Sprintf("<%s %p>", typeName(v), v)
}

// floatRepr is Python's repr of a float: the shortest digits that read back
// the same, with an exponent below 1e-4 and from 1e16.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}
