package outputs

import (
	"slices"
	"unicode"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// maxKey bounds the name of a parameter, in bytes, so that its header is one for the parser.
const maxKey = 200

// params is arguments between tags, with the mark that ends them.
func (c *compiler) params(t *tool) (part, error) {
	p := c.Format.Calls.Call.Params
	end := c.seq(c.term(c.space), c.marked(p.End))
	ends := c.mark(p.Close)
	if len(ends) == 0 {
		return nothing, invalid("/format/calls/call/params/close", "the mark ends the whole output", "")
	}
	// The last piece of Close separates parameters, because a separator is one terminal.
	last := ends[len(ends)-1]
	w := &paramWriter{c, t, p, ends[:len(ends)-1]}
	o := c.schemaOptions(t)
	o.Without = p.Close
	members, none, omissions, err := jsonschema.CompileMembers(c.b, t.schema(), jsonschema.Members{Separator: c.symbol(last), Write: w.write}, o)
	if err != nil {
		return nothing, c.aboutSchema(t, err)
	}
	c.leaveOut(t, omissions)
	list := c.seq(c.sym(members), last)
	if none {
		list = c.optional(list)
	}
	return c.seq(list, end), nil
}

// paramWriter writes parameters of a tool, apart from the last piece of Close.
type paramWriter struct {
	*compiler
	tool *tool
	p    *output.Params
	end  []part
}

func (w *paramWriter) write(m jsonschema.Member) []cfg.Symbol {
	key, ok := w.key(m, "key", "")
	if !ok {
		return nil
	}
	var list []part
	for _, text := range w.p.Headers {
		pieces := output.Pieces(text)
		at := slices.IndexFunc(pieces, func(p output.Piece) bool { return p.Field == "key" })
		if at < 0 {
			continue
		}
		flags := []string{""}
		if slices.ContainsFunc(pieces, func(p output.Piece) bool { return p.Field == "string" }) {
			flags = []string{"true", "false"}
		}
		for _, flag := range flags {
			value := w.value(m, flag)
			if value == (part{term: regex.Nothing}) {
				continue
			}
			one := []part{w.term(w.space), w.marked(w.p.Open), w.header(pieces[:at], flag), key, w.header(pieces[at+1:], flag), value}
			list = append(list, w.seq(append(one, w.end...)...))
		}
	}
	return []cfg.Symbol{w.symbol(w.choice(list...))}
}

// key is the name of a member, if a field can hold it.
func (c *compiler) key(m jsonschema.Member, field, not string) (part, bool) {
	var allowed regex.ByteSet
	for b := range 256 {
		if output.InField(field, byte(b)) && !slices.Contains([]byte(not), byte(b)) {
			allowed = allowed.With(byte(b))
		}
	}
	if m.Further {
		return c.term(c.set.And(m.Names, c.set.Repeat(c.set.OneOf(allowed), 1, maxKey))), true
	}
	for i := range len(m.Name) {
		if !allowed.Has(m.Name[i]) {
			return nothing, false
		}
	}
	return c.literal(m.Name), m.Name != "" && len(m.Name) <= maxKey
}

var everyType = []string{"string", "number", "boolean", "null", "array", "object"}

// value is a parameter's value with what frames it. flag is what the header says of strings.
func (w *paramWriter) value(m jsonschema.Member, flag string) part {
	types := everyType
	if !m.Further {
		types = w.tool.types(m.Name)
	}
	onlyString := flag == "true" || flag == "" && len(types) == 1 && types[0] == "string"
	var list []part
	if m.Text != regex.Nothing && flag != "false" {
		text := m.Text
		if !onlyString && !m.Any {
			text = w.set.And(text, w.set.Not(w.otherThanText(types)))
		}
		if w.p.Framed && (text != m.Text || !m.AnyText) {
			text = w.framed(text)
		}
		list = append(list, w.term(w.before(text, w.p.Close, w.p.Close)))
	}
	if m.HasOther && !onlyString && (flag != "" || !m.Any) {
		list = append(list, w.seq(w.term(w.space), w.sym(m.Other()), w.term(w.space)))
	}
	return w.choice(list...)
}

// framed is a text with the newlines around it that are no part of it.
func (c *compiler) framed(text regex.Term) regex.Term {
	s := c.set
	line := s.Literal("\n")
	bare := s.And(text, s.Not(s.Concat(line, regex.Anything)), s.Not(s.Concat(regex.Anything, line)))
	return s.Or(s.Concat(line, text, line), bare)
}

// otherThanText is texts that the parser takes, or may take, for values of other types than string.
func (c *compiler) otherThanText(types []string) regex.Term {
	s := c.set
	words := func(list ...string) regex.Term { return c.anyOf(list) }
	between := func(open, end string) regex.Term { return s.Concat(s.Literal(open), regex.Anything, s.Literal(end)) }
	digits := s.Repeat(s.OneOf(regex.SetOf("0123456789")), 1, regex.Unbounded)
	optional := func(list ...regex.Term) regex.Term { return s.Or(regex.Empty, s.Concat(list...)) }
	of := map[string]regex.Term{
		"null":    words("null", "None"),
		"boolean": words("true", "false", "True", "False"),
		"number": s.Concat(optional(s.Literal("-")), digits, optional(s.Literal("."), digits),
			optional(s.OneOf(regex.SetOf("eE")), optional(s.OneOf(regex.SetOf("+-"))), digits)),
		"array":  s.Or(between("[", "]"), between("(", ")")),
		"object": between("{", "}"),
	}
	var list []regex.Term
	for _, name := range types {
		if t, ok := of[name]; ok {
			list = append(list, t)
		}
	}
	if len(types) == len(everyType) {
		list = append(list, between(`"`, `"`))
	}
	var blank []regex.RuneRange
	for r := range rune(0x3001) {
		if unicode.IsSpace(r) {
			blank = append(blank, regex.RuneRange{Lo: r, Hi: r})
		}
	}
	around := s.Repeat(s.Runes(blank...), 0, regex.Unbounded)
	return s.Concat(around, s.Or(list...), around)
}
