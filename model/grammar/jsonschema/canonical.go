package jsonschema

import (
	"slices"
	"strconv"
	"strings"
)

// canonical writes v so that equal values, as JSON Schema compares them, are
// written the same.
func canonical(v *value) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v *value) {
	switch v.kind {
	case kindNumber:
		d, ok := parseDecimal(v.text)
		if !ok {
			b.WriteString(v.text)
			return
		}
		if d.negative {
			b.WriteByte('-')
		}
		b.WriteString(d.whole + "." + d.fraction)
	case kindString:
		b.WriteString(strconv.Quote(v.text))
	case kindArray:
		b.WriteByte('[')
		for _, item := range v.items {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case kindObject:
		order := make([]int, len(v.names))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(v.names[i], v.names[j]) })
		b.WriteByte('{')
		for _, i := range order {
			b.WriteString(strconv.Quote(v.names[i]) + ":")
			writeCanonical(b, v.items[i])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.kind.String())
	}
}
