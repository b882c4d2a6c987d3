package output

import "strings"

// Message gathers the events of a whole output. The zero Message is empty.
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

// Add adds events of a Parser.
func (m *Message) Add(events []Event) {
	var reasoning, content strings.Builder
	last := func() *ToolCall { return &m.Calls[len(m.Calls)-1] }
	for _, e := range events {
		switch e.Kind {
		case ReasoningDelta:
			reasoning.WriteString(e.Text)
		case ContentDelta:
			content.WriteString(e.Text)
		case CallOpened:
			m.Calls = append(m.Calls, ToolCall{Index: e.Index, Name: e.Name, ID: e.ID})
		case ArgumentsDelta:
			last().Arguments += e.Text
		case CallClosed:
			last().Complete = true
			last().ID = e.ID
		case CallBroken:
			if m.Calls = m.Calls[:len(m.Calls)-1]; len(m.Calls) == 0 {
				m.Calls = nil
			}
		}
	}
	m.Reasoning += reasoning.String()
	m.Content += content.String()
}

// Read parses a whole output.
func Read(f *Format, o Options, text string, cut bool) Message {
	var m Message
	p := NewParser(f, o)
	m.Add(p.Push(text))
	m.Add(p.Finish(cut))
	return m
}
