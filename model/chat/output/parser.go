package output

import (
	"encoding/json"
	"unicode/utf8"
)

// Tool is a tool that the model may call.
type Tool struct {
	Name       string
	Parameters json.RawMessage // its JSON Schema; nil or broken means any arguments
}

// Options of a Parser. The zero Options give reasoning apart, and no calls.
type Options struct {
	// Tools are those that may be called. Without any, and without AnyName, calls are content.
	Tools []Tool
	// AnyName gives calls to other tools, too. Otherwise they are content.
	AnyName bool
	// KeepReasoning leaves thoughts and their marks in the content, as reasoning_format none.
	KeepReasoning bool
	// Hold gives a call only when it is complete, so there is never a CallBroken.
	Hold bool
	// Begin says where the output begins.
	Begin Begin
	// Opened is the end of the prompt that belongs to the output, see Format.Opened. It counts
	// only with AtStart.
	Opened string
}

// Begin is where an output begins.
type Begin int

const (
	AtStart     Begin = iota // of a message, after Options.Opened
	InReasoning              // the output continues thoughts
	InContent                // the output continues content
)

// Kind of an Event.
type Kind int

const (
	ReasoningDelta Kind = iota // Text
	ContentDelta               // Text
	CallOpened                 // Index, Name, ID
	ArgumentsDelta             // Index, Text: a piece of JSON
	CallClosed                 // Index, ID: the call is complete
	CallBroken                 // Index: it was no call; its text follows as content
)

// Event is a part of the output, or a piece of one.
type Event struct {
	Kind  Kind
	Text  string
	Index int    // of the call, in order; that of a broken call is not used again
	Name  string // of the tool
	ID    string // what the model wrote, "" if nothing. It may come late, with CallClosed.
}

// Parser reads one output, piece by piece.
type Parser struct {
	f       *Format
	o       Options
	tools   map[string]*tool
	marking marking
	mode    mode
	held    []byte // may become a mark

	events  []Event
	text    []byte // of the event under way
	kind    Kind
	content contentState
	reason  reasonState
	call    callState
	header  []byte // of a message under way
	loose   bool   // between two messages
}

type mode int

const (
	inContent mode = iota
	inReasoning
	inCalls
	inHeader // of a message
	inSkip   // in a message for somebody else
)

// NewParser starts a parser. The format must not change while it is used.
func NewParser(f *Format, o Options) *Parser {
	p := &Parser{f: f, o: o, tools: make(map[string]*tool, len(o.Tools))}
	for _, t := range o.Tools {
		p.tools[t.Name] = newTool(t)
	}
	p.marking = newMarking(f, len(o.Tools) > 0 || o.AnyName)
	switch {
	case o.Begin == InReasoning:
		p.mode, p.reason.started = inReasoning, true
	case o.Begin == InContent:
		p.content.started = true
	case f.Messages != nil:
		p.mode = inHeader
	}
	if o.Begin != AtStart {
		return p
	}
	if f.Reasoning.Implied && o.Opened == "" {
		p.openReasoning("")
	}
	for i := 0; i < len(o.Opened); i++ {
		p.step(o.Opened[i])
	}
	if p.mode == inCalls {
		p.call.raw = p.call.raw[:0] // it is no text of the output
	}
	return p
}

// Push reads a piece of the output. The events are valid until the next call.
func (p *Parser) Push(text string) []Event {
	for i := 0; i < len(text); i++ {
		p.step(text[i])
	}
	p.flush(false)
	return p.take()
}

// PushSpecial reads the text of a special token. It is left out unless it is in a mark of the
// format.
func (p *Parser) PushSpecial(text string) []Event {
	if p.marking.mentions(text) {
		return p.Push(text)
	}
	return p.take()
}

// Finish ends the output; the parser must not be used after it. cut says that the output is not
// complete: what may have become a mark is left out, and an open call stays as it is, without a
// CallClosed. Otherwise an open call is content.
func (p *Parser) Finish(cut bool) []Event {
	if p.mode == inCalls {
		p.endCalls(cut)
	}
	if p.mode == inHeader {
		p.endHeader(cut)
	}
	if !cut {
		for _, c := range p.held {
			p.put(c)
		}
	}
	p.endContent()
	p.flush(true)
	return p.take()
}

// Reasoning reports whether what comes next is part of the thoughts.
func (p *Parser) Reasoning() bool { return p.mode == inReasoning }

func (p *Parser) step(c byte) {
	switch p.mode {
	case inCalls:
		p.callByte(c)
	case inHeader:
		p.headerByte(c)
	default:
		p.textByte(c)
	}
}

// take returns the events so far. They are overwritten by the next call.
func (p *Parser) take() []Event {
	events := p.events
	p.events = p.events[:0]
	return events
}

// emit adds a byte to the event under way, or begins one.
func (p *Parser) emit(kind Kind, c byte) {
	if p.kind != kind {
		p.flush(true)
		p.kind = kind
	}
	p.text = append(p.text, c)
}

// flush ends the event under way. Without all, half a character stays behind.
func (p *Parser) flush(all bool) {
	n := len(p.text)
	if !all {
		n -= halfCharacter(p.text)
	}
	if n == 0 {
		return
	}
	e := Event{Kind: p.kind, Text: string(p.text[:n])}
	if p.kind == ArgumentsDelta {
		e.Index = p.call.index
	}
	p.events = append(p.events, e)
	p.text = append(p.text[:0], p.text[n:]...)
}

// halfCharacter counts the bytes of a character at the end of a text that is not complete.
func halfCharacter(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
