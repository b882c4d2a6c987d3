package outputs

import (
	"strings"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// headers is the calls of all tools behind Open, with headers. What stands before the name is common to
// all tools.
func (c *compiler) headers() (part, error) {
	call := &c.Format.Calls.Call
	readable := make([]bool, len(c.tools))
	var list []part
	for _, text := range call.Headers {
		pieces := output.Pieces(text)
		at := len(pieces)
		for i, p := range pieces {
			if p.Field == "name" {
				at = i
			}
		}
		if at == len(pieces) {
			continue // it names no tool
		}
		before, after := c.header(pieces[:at], ""), c.header(pieces[at+1:], "")
		n := c.b.Nonterminal("tool")
		for i := range c.tools {
			t := &c.tools[i]
			if c.Format.HeaderName(example(pieces, t.Name)) != t.Name {
				continue // another tool's, or none
			}
			readable[i] = true
			c.b.Add(n, c.flat(c.literal(t.Name), after, c.term(c.space), t.arguments)...)
		}
		list = append(list, c.seq(before, c.sym(n)))
	}
	for i, ok := range readable {
		if !ok {
			return nothing, c.unreadable(&c.tools[i])
		}
	}
	return c.choice(list...), nil
}

// example is a header with a name.
func example(pieces []output.Piece, name string) string {
	var b strings.Builder
	for _, p := range pieces {
		switch p.Field {
		case "":
			b.WriteString(p.Literal)
		case "name":
			b.WriteString(name)
		case "index":
			b.WriteString("000")
		case "args":
			b.WriteString("{")
		case "tags":
			b.WriteString("<")
		case "id", "/id":
		default:
			b.WriteString("abcdefghi")
		}
	}
	return b.String()
}

// header is a piece of a header. flag is what stands for {string}.
func (c *compiler) header(pieces []output.Piece, flag string) part {
	var list []part
	inID := false
	for _, p := range pieces {
		switch p.Field {
		case "":
			list = append(list, c.loose(p.Literal)...)
		case "index":
			list = append(list, c.term(c.set.Repeat(c.set.OneOf(regex.SetOf("0123456789")), 1, 3)))
		case "id", "/id":
			inID = p.Field == "id"
		case "word":
			word := c.term(c.set.Repeat(c.set.OneOf(regex.SetOf(letters+"_-.:")), 1, 64))
			if inID {
				word = c.id()
			}
			list = append(list, word)
		case "string":
			list = append(list, c.literal(flag))
		}
	}
	return c.seq(list...)
}

// loose is a literal of a header: its white space may be missing.
func (c *compiler) loose(text string) (list []part) {
	for text != "" {
		n := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		if n > 0 {
			list = append(list, c.optional(c.literal(text[:n])))
			text = text[n:]
		}
		if n = strings.IndexAny(text, " \t\r\n"); n < 0 {
			n = len(text)
		}
		list = append(list, c.mark(text[:n])...)
		text = text[n:]
	}
	return list
}
