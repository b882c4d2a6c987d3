package lark

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/troupe-engine/troupe/model/grammar/rules"
)

func (p *parser) schema(at int) (rules.Expr, error) {
	if p.now.terminal {
		return nil, p.fail(at, "%%json cannot be used in terminals")
	}
	text, err := p.json()
	if err != nil {
		return nil, err
	}
	if p.o.JSON == nil {
		return nil, p.fail(at, "%%json is not supported here")
	}
	s, err := p.o.JSON(text)
	if err != nil {
		return nil, p.fail(at, "%v", err)
	}
	return p.part(rules.Symbol{Symbol: s}), nil
}

func (p *parser) grammarInside(at int) (rules.Expr, error) {
	text, begin, err := p.braces()
	if err != nil {
		return nil, err
	}
	if p.nested >= maxNested {
		return nil, p.fail(at, "grammars nest deeper than %d", maxNested)
	}
	s, err := compile(p.b, p.text[:begin+len(text)], begin, p.o, p.nested+1)
	return p.part(rules.Symbol{Symbol: s}), err
}

// substring reads the argument of %regex.
func (p *parser) substring(at int) (rules.Expr, error) {
	text, err := p.json()
	if err != nil {
		return nil, err
	}
	var o struct {
		Chars  *string  `json:"substring_chars"`
		Words  *string  `json:"substring_words"`
		Chunks []string `json:"substring_chunks"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, p.fail(at, "%%regex: %v", err)
	}
	var chunks []string
	given := 0
	if o.Chunks != nil {
		chunks = o.Chunks
		given++
	}
	if o.Chars != nil {
		chunks = strings.Split(*o.Chars, "")
		given++
	}
	if o.Words != nil {
		chunks = words(*o.Words)
		given++
	}
	if given != 1 {
		return nil, p.fail(at, "%%regex needs one of substring_chars, substring_words and substring_chunks")
	}
	if len(chunks) > 20_000 {
		return nil, p.fail(at, "%%regex has more than 20,000 parts")
	}
	return rules.Text{Term: rules.Substring(p.b.Set, chunks)}, nil
}

// words cuts text into words and what is between them.
func words(text string) (out []string) {
	last := -1
	for _, r := range text {
		kind := 0
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			kind = 1
		case unicode.IsSpace(r):
			kind = 2
		}
		if kind == last && kind != 0 {
			out[len(out)-1] += string(r)
		} else {
			out = append(out, string(r))
		}
		last = kind
	}
	return out
}
