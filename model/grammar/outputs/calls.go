package outputs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// calls are the groups of calls that an output may have, by the mark that begins them.
func (c *compiler) calls() ([]branch, error) {
	calls := c.Format.Calls
	if calls == nil || len(c.tools) == 0 {
		return nil, nil
	}
	one, err := c.call()
	if err != nil {
		return nil, err
	}
	end := c.seq(c.term(c.space), c.marked(calls.End))
	mayEnd := c.optional(end)
	var list []branch
	if calls.Begin != "" {
		group, more := c.seq(c.group(one, true), end), nothing
		if !c.Single && !calls.List {
			more = c.repeat(c.seq(c.term(c.space), c.marked(calls.Begin), group)) // some models write a group for each call
		}
		list = append(list, branch{calls.Begin, c.seq(group, more)})
	}
	if open := calls.Call.Open; open != "" && !calls.List && open != calls.Begin {
		list = append(list, branch{open, c.seq(c.group(one, false), mayEnd)})
	}
	switch {
	case c.inCall():
		list = append(list, branch{"", c.group(one, false)})
	case calls.AtStart:
		list = append(list, branch{"", c.seq(c.group(one, true), mayEnd)})
	}
	for i := range list {
		if list[i].word != "" {
			c.opens = append(c.opens, list[i].word)
		}
		list[i].then = c.seq(list[i].then, c.term(c.space))
	}
	return list, nil
}

// group is calls one after the other. one is a call behind its Open, which the first call has if open.
func (c *compiler) group(one part, open bool) part {
	calls, space := c.Format.Calls, c.term(c.space)
	mark := c.marked(calls.Call.Open)
	first := one
	if open {
		first = c.seq(space, mark, one)
	}
	more := nothing
	switch {
	case c.Single:
	case calls.List:
		more = c.repeat(c.seq(space, c.literal(","), space, mark, one))
	default:
		separator := space
		if calls.Separator != "" {
			separator = c.seq(space, c.optional(c.seq(c.marked(calls.Separator), space)))
		}
		more = c.repeat(c.seq(separator, mark, one))
	}
	if calls.List {
		return c.seq(space, c.literal("["), first, more, space, c.literal("]"))
	}
	return c.seq(first, more)
}

// call is one call behind Open, with Close.
func (c *compiler) call() (part, error) {
	call, space := &c.Format.Calls.Call, c.term(c.space)
	end := nothing
	if call.Close != "" {
		end = c.seq(space, c.marked(call.Close))
	}
	if call.Object != nil {
		return c.seq(c.object(), end), nil
	}
	one, err := c.headers()
	return c.seq(one, end), err
}

// object is a call as a JSON object. Its members come in the usual order, an id where it fits.
func (c *compiler) object() part {
	o, space := c.Format.Calls.Call.Object, c.term(c.space)
	open, end := c.seq(space, c.literal("{"), space), c.seq(space, c.literal("}"))
	comma, colon := c.seq(space, c.literal(","), space), c.seq(space, c.literal(":"), space)
	key := func(names []string) part {
		var list []part
		for _, name := range names {
			list = append(list, c.literal(quote(name)))
		}
		return c.seq(c.choice(list...), colon)
	}
	n := c.b.Nonterminal("object")
	for i := range c.tools {
		t := &c.tools[i]
		if o.NameIsKey {
			c.b.Add(n, c.flat(c.literal(quote(t.Name)), colon, t.arguments)...)
			continue
		}
		c.b.Add(n, c.flat(c.literal(quote(t.Name)), comma, key(o.Arguments), t.arguments)...)
	}
	if o.NameIsKey {
		return c.seq(open, c.sym(n), end)
	}
	before := []part{nothing, c.seq(c.literal(`"type"`), colon, c.literal(`"function"`), comma)}
	after := nothing
	if len(o.ID) > 0 {
		id := c.seq(key(o.ID), c.literal(`"`), c.id(), c.literal(`"`))
		before = append(before, c.seq(id, comma))
		after = c.optional(c.seq(comma, id))
	}
	return c.seq(open, c.choice(before...), key(o.Name), c.sym(n), after, end)
}

// letters are what an id is made of.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// id is the id of a call.
func (c *compiler) id() part {
	if c.Format.ID == output.NineID {
		return c.term(c.set.Repeat(c.set.OneOf(regex.SetOf(letters)), 9, 9))
	}
	return c.term(c.set.Repeat(c.set.OneOf(regex.SetOf(letters+"_-.:")), 1, 64))
}

// quote spells a name as JSON.
func quote(name string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(name) != nil {
		return `""`
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// unreadable is the error for a name that no header of the format can hold.
func (c *compiler) unreadable(t *tool) error {
	return invalid(t.at+"/name", fmt.Sprintf("calls in the format %q cannot have the name %q", c.Format.Name, t.Name), "name the tool with letters, digits, _ and - only")
}
