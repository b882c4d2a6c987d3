package output

import (
	"slices"
	"strings"
)

// What is in this file is for those who make grammars of what a Parser reads.

// Formats lists the known formats.
func Formats() []Format { return slices.Clone(catalogue) }

// InField reports whether a byte may stand in a field of a pattern, see Pieces.
func InField(field string, c byte) bool { return inField(field, c) }

// HeaderName returns the name of the tool that is called behind a header: of Call.Headers, or of a
// message. It is "" if the header is none, or is longer than a parser takes.
func (f *Format) HeaderName(header string) string {
	if len(header) >= MaxHeader {
		return ""
	}
	if ms := f.Messages; ms != nil {
		name, isTool := strings.CutPrefix(word(header, strings.TrimLeft(ms.Recipient, " ")), ms.Tools)
		if !isTool {
			return ""
		}
		return name
	}
	patterns := parsePatterns(f.Calls.Call.Headers)
	for n := 1; n <= len(header); n++ {
		if header[:n] == f.Calls.Call.Content {
			return ""
		}
		switch h, got := matchAny(patterns, header[:n]); got {
		case yes:
			return h.name
		case no:
			return ""
		}
	}
	return ""
}

// Types returns what types of JSON a parser takes a parameter for, by its key. It is a superset of what
// the schema says. The function must not be called twice at a time.
func (t Tool) Types() func(key string) []string {
	known := newTool(t)
	return func(key string) (names []string) {
		ts := known.typesOf(key)
		for _, name := range []string{"string", "number", "boolean", "null", "array", "object"} {
			if ts&typeNames[name] != 0 {
				names = append(names, name)
			}
		}
		return names
	}
}
