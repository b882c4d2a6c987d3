package output

import "strings"

type pattern []Piece

// Piece is a part of a pattern: a literal text or a field.
type Piece struct {
	Literal string // "" for a field
	Field   string
}

// Pieces takes a pattern apart: a short header as text with fields:
//
//	{name}       the tool's name
//	{key}        a parameter's name
//	{string}     true or false: whether the value is a string
//	{index}      digits
//	{word}       letters without white space and < > [ ]
//	{id} … {/id} what is between them is the id
//	{args}       the arguments begin here with {, which is no part of the header
//	{tags}       likewise with <
//
// White space matches any white space, or none.
func Pieces(text string) []Piece {
	var p []Piece
	for text != "" {
		at := strings.IndexByte(text, '{')
		end := strings.IndexByte(text, '}')
		if at < 0 || end < at {
			return append(p, Piece{Literal: text})
		}
		if at > 0 {
			p = append(p, Piece{Literal: text[:at]})
		}
		p = append(p, Piece{Field: text[at+1 : end]})
		text = text[end+1:]
	}
	return p
}

func parsePatterns(texts []string) []pattern {
	list := make([]pattern, len(texts))
	for i, t := range texts {
		list[i] = Pieces(t)
	}
	return list
}

type fit int

const (
	no    fit = iota // no continuation of the text fits
	maybe            // a continuation may fit
	yes
)

// header is what a pattern read.
type header struct {
	name, key, id, flag string
	idAt, end           int // where the id begins, and where the header ends
}

// match compares a text from a place on.
func (p pattern) match(text string, at int, h header) (header, fit) {
	for i, part := range p {
		switch part.Field {
		case "":
			var f fit
			if at, f = matchLiteral(part.Literal, text, at); f != yes {
				return h, f
			}
		case "id":
			h.idAt = at
		case "/id":
			h.id = text[h.idAt:at]
		case "args", "tags":
			for at < len(text) && space(text[at]) {
				at++
			}
			if at == len(text) {
				return h, maybe
			}
			if (text[at] != '{' || part.Field != "args") && (text[at] != '<' || part.Field != "tags") {
				return h, no
			}
		default:
			return p[i:].matchField(text, at, h)
		}
	}
	h.end = at
	return h, yes
}

// matchField compares a text with a pattern that begins with a field: the longest value first.
func (p pattern) matchField(text string, at int, h header) (header, fit) {
	end := at
	for end < len(text) && inField(p[0].Field, text[end]) {
		end++
	}
	best := no
	if end == len(text) {
		best = maybe
	}
	for ; end > at; end-- {
		next, value := h, text[at:end]
		switch p[0].Field {
		case "name":
			next.name = value
		case "key":
			next.key = value
		case "string":
			next.flag = value
		}
		got, f := p[1:].match(text, end, next)
		if f == yes {
			return got, yes
		}
		best = max(best, f)
	}
	return h, best
}

func inField(field string, c byte) bool {
	switch field {
	case "index":
		return c >= '0' && c <= '9'
	case "key":
		return c != '<' && c != '>' && c != '"' && c != '\n'
	case "string":
		return c >= 'a' && c <= 'z'
	case "name":
		return c > ' ' && !strings.ContainsRune(`<>{}[]()"'=,`, rune(c))
	}
	return c > ' ' && !strings.ContainsRune("<>[]", rune(c))
}

func matchLiteral(literal, text string, at int) (int, fit) {
	for i := 0; i < len(literal); i++ {
		if space(literal[i]) {
			for at < len(text) && space(text[at]) {
				at++
			}
			continue
		}
		if at == len(text) {
			return at, maybe
		}
		if text[at] != literal[i] {
			return at, no
		}
		at++
	}
	return at, yes
}

// matchAny compares a text with patterns; an earlier one wins.
func matchAny(list []pattern, text string) (header, fit) {
	best := no
	for _, p := range list {
		h, f := p.match(text, 0, header{})
		if f == yes {
			return h, yes
		}
		best = max(best, f)
	}
	if len(text) >= MaxHeader {
		best = no
	}
	return header{}, best
}
