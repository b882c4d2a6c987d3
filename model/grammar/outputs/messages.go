package outputs

// What a format of messages does not say of its own: its channels beside that of thoughts, and how the
// form of arguments is named.
const (
	finalChannel = "final"
	callChannel  = "commentary"
	jsonForm     = "json"
)

// messages is the output of a format of messages. The prompt has begun the first header.
func (c *compiler) messages() (part, error) {
	m := c.Format.Messages
	marks := append([]string{m.Start, m.Channel}, m.Ends...)
	c.free = c.without(c.anyText, marks...)
	channel := func(name string) part { return c.seq(c.marked(m.Channel), c.literal(name)) }
	text := func(name string) part { return c.seq(channel(name), c.marked(m.Body), c.term(c.free)) }
	next := c.seq(c.marked(m.Ends[0]), c.marked(m.Start), c.literal(m.Role))

	calls, err := c.messageCalls(channel)
	if err != nil {
		return nothing, err
	}
	// Where the end of a message does not end the text for the vocabulary, it may come.
	var ends []part
	for _, end := range m.Ends {
		ends = append(ends, c.marked(end))
	}
	end := c.choice(append(ends, nothing)...)
	list := []part{}
	if len(c.tools) > 0 {
		list = append(list, calls)
	}
	switch {
	case c.Required:
	case c.Content != nil:
		list = append(list, c.seq(channel(finalChannel), c.marked(m.Body), c.sym(c.content), end))
	default:
		list = append(list, c.seq(text(finalChannel), end), c.seq(text(callChannel), end))
		if len(c.tools) > 0 {
			list[0] = c.seq(c.repeat(c.seq(text(callChannel), next)), calls)
		}
	}
	body := c.choice(list...)
	if c.NoThoughts {
		return body, nil
	}
	return c.seq(c.repeat(c.seq(text(m.Reasoning), next)), body), nil
}

// messageCalls is calls as messages to tools.
func (c *compiler) messageCalls(channel func(string) part) (part, error) {
	m, space := c.Format.Messages, c.term(c.space)
	form := c.choice(nothing, c.literal(" "+jsonForm), c.seq(c.optional(c.literal(" ")), c.marked(constrain(m.Other)), c.literal(jsonForm)))
	n, early := c.b.Nonterminal("tool"), c.b.Nonterminal("tool")
	for i := range c.tools {
		t := &c.tools[i]
		header := m.Channel + callChannel + m.Recipient + m.Tools + t.Name + " " + constrain(m.Other) + jsonForm + m.Body
		if c.Format.HeaderName(header) != t.Name {
			return nothing, c.unreadable(t)
		}
		c.b.Add(n, c.flat(c.literal(t.Name), form, c.marked(m.Body), space, t.arguments)...)
		c.b.Add(early, c.flat(c.literal(t.Name), c.choice(channel(callChannel), channel(m.Reasoning)), form, c.marked(m.Body), space, t.arguments)...)
	}
	to := c.seq(c.marked(m.Recipient), c.literal(m.Tools))
	call := c.choice(
		c.seq(channel(callChannel), to, c.sym(n)),
		c.seq(channel(m.Reasoning), to, c.sym(n)),
		c.seq(to, c.sym(early)))
	var ends []part
	for _, end := range m.Ends {
		ends = append(ends, c.marked(end))
	}
	end := c.choice(ends...)
	more := nothing
	if !c.Single {
		more = c.repeat(c.seq(end, c.marked(m.Start), c.literal(m.Role), call))
	}
	return c.seq(call, more, c.optional(end), space), nil
}

// constrain is the mark that names the form of arguments.
func constrain(other []string) string {
	if len(other) == 0 {
		return ""
	}
	return other[0]
}
