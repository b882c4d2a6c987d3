package lark

import "github.com/troupe-engine/troupe/model/grammar/regex"

// library is Lark's common, as regular expressions.
var library = map[string]string{
	"DIGIT":          `[0-9]`,
	"HEXDIGIT":       `[0-9a-fA-F]`,
	"INT":            `[0-9]+`,
	"SIGNED_INT":     `[+-]?[0-9]+`,
	"DECIMAL":        `[0-9]+\.[0-9]*|\.[0-9]+`,
	"FLOAT":          `[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`,
	"SIGNED_FLOAT":   `[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`,
	"NUMBER":         `[0-9]+|[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`,
	"SIGNED_NUMBER":  `[+-]?(?:[0-9]+|[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`,
	"ESCAPED_STRING": `"(?:[^"\\\n]|\\[^\n])*"`,
	"LCASE_LETTER":   `[a-z]`,
	"UCASE_LETTER":   `[A-Z]`,
	"LETTER":         `[a-zA-Z]`,
	"WORD":           `[a-zA-Z]+`,
	"CNAME":          `[a-zA-Z_][a-zA-Z0-9_]*`,
	"WS_INLINE":      `[ \t]+`,
	"WS":             `[ \t\f\r\n]+`,
	"CR":             `\r`,
	"LF":             `\n`,
	"NEWLINE":        `(?:\r?\n)+`,
	"SH_COMMENT":     `#[^\n]*`,
	"CPP_COMMENT":    `//[^\n]*`,
	"SQL_COMMENT":    `--[^\n]*`,
	"C_COMMENT":      `/\*(?:[^*]|\*+[^*/])*\*+/`,
}

func common(s *regex.Set, name string) (regex.Term, bool, error) {
	pattern, ok := library[name]
	if !ok {
		return regex.Nothing, false, nil
	}
	t, err := s.Parse(pattern, regex.Options{})
	return t, true, err
}
