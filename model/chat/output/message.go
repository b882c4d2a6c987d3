package output

// Message is the parts of an output.
type Message struct {
	Reasoning string
	Content   string
	Calls     []ToolCall
}

// ToolCall is a call of a Message.
type ToolCall struct {
	Index     int
	Name      string
	ID        string // what the model wrote, "" if nothing
	Arguments string // JSON, if the call is complete
	Complete  bool
}

// Collector makes a Message of the events of a Parser. The zero Collector is empty.
type Collector struct {
	reasoning []byte
	content   []byte
	calls     []ToolCall
	arguments []byte // of the last call
}

// Add adds events.
func (c *Collector) Add(events []Event) {
	for _, e := range events {
		switch e.Kind {
		case ReasoningDelta:
			c.reasoning = append(c.reasoning, e.Text...)
		case ContentDelta:
			c.content = append(c.content, e.Text...)
		case CallOpened:
			c.calls = append(c.calls, ToolCall{Index: e.Index, Name: e.Name, ID: e.ID})
			c.arguments = c.arguments[:0]
		case ArgumentsDelta:
			c.arguments = append(c.arguments, e.Text...)
		case CallClosed:
			last := &c.calls[len(c.calls)-1]
			last.Complete, last.ID, last.Arguments = true, e.ID, string(c.arguments)
		case CallBroken:
			c.calls = c.calls[:len(c.calls)-1]
		}
	}
}

// Message returns the parts so far. An open call has the arguments so far.
func (c *Collector) Message() Message {
	m := Message{Reasoning: string(c.reasoning), Content: string(c.content), Calls: append([]ToolCall(nil), c.calls...)}
	if n := len(m.Calls); n > 0 && !m.Calls[n-1].Complete {
		m.Calls[n-1].Arguments = string(c.arguments)
	}
	return m
}

// Read parses a whole output.
func Read(f *Format, o Options, text string, cut bool) Message {
	var c Collector
	p := NewParser(f, o)
	c.Add(p.Push(text))
	c.Add(p.Finish(cut))
	return c.Message()
}
