package httpapi

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat/output"
)

// chatParts takes the outputs of a call apart: into thoughts, content and calls of tools.
type chatParts struct {
	model   *Model
	format  *output.Format
	options output.Options
	tools   *toolbox
	// visible leaves special tokens in the content, as the client asked for.
	visible bool
	before  int  // calls in the conversation
	silent  bool // thoughts are left out of the answer
	choices []choiceParts
}

// choiceParts is one output under way.
type choiceParts struct {
	parser  *output.Parser
	bytes   int    // of the text so far
	special string // what is missing of the text of a special token
	token   string // that token's text

	thoughts int // tokens
	calls    int // complete ones
	ids      []string
	input    []byte
	inputOf  *tool // the custom tool whose call is open
	inputAt  int   // that call's index
}

// part is a piece of an answer. One of the fields is set.
type part struct {
	reasoning, content string
	call               *callPart
}

// callPart begins a call, or adds to its arguments.
type callPart struct {
	index     int
	id        string // "" but at the begin
	tool      *tool
	arguments string // a piece of JSON, or of the text of a custom tool
}

func (c *chatParts) choice(index int) *choiceParts {
	one := &c.choices[index]
	if one.parser == nil {
		one.parser = output.NewParser(c.format, c.options)
	}
	return one
}

// take reads one output and sends its parts. Neighbours of one kind are one part.
func (c *chatParts) take(out *messages.CallOutput, send func(part)) {
	one := c.choice(out.Index)
	m := merger{send: send}
	add := func(events []output.Event) {
		for i := range events {
			c.event(one, &events[i], &m)
		}
	}
	from, text := 0, out.Text
	if out.Finish != nil && c.cut(out.Finish) {
		// Half a character at the end, which may be one of a mark, says nothing.
		text = strings.TrimSuffix(text, "\uFFFD")
	}
	for i, t := range out.Tokens {
		start, end := t.TextOffset-one.bytes, len(text)
		if i+1 < len(out.Tokens) {
			end = out.Tokens[i+1].TextOffset - one.bytes
		}
		start, end = min(max(start, from), len(text)), min(max(end, from), len(text))
		add(one.push(text[from:start], c.visible))
		thinking := one.parser.Reasoning()
		if c.model.Tokenizer.IsSpecial(t.Token) {
			one.token = string(c.model.Tokenizer.TokenBytes(t.Token))
			one.special = one.token
		}
		add(one.push(text[start:end], c.visible))
		if thinking || one.parser.Reasoning() {
			one.thoughts++
		}
		from = end
	}
	add(one.push(text[from:], c.visible))
	one.bytes += len(text)
	if out.Finish != nil {
		add(one.parser.Finish(c.cut(out.Finish)))
		one.endInput(&m, cutText)
	}
	m.flush()
}

// push reads a piece of text. The text of a special token may come in pieces, too, if it
// could have become a stop string.
func (o *choiceParts) push(text string, visible bool) []output.Event {
	if text == "" {
		return nil
	}
	if n := min(len(o.special), len(text)); n > 0 {
		if o.special = o.special[n:]; o.special != "" {
			return nil
		}
		token := o.token
		if o.token = ""; visible {
			return o.parser.Push(token + text[n:])
		}
		events := slices.Clone(o.parser.PushSpecial(token))
		if text = text[n:]; text == "" {
			return events
		}
		return append(events, o.parser.Push(text)...)
	}
	return o.parser.Push(text)
}

// cut reports whether an output has ended before the model ended it.
func (c *chatParts) cut(f *messages.Finish) bool {
	return f.Reason != messages.FinishStop || f.MatchedStop != "" || f.MatchedToken >= 0 && !slices.Contains(c.model.EOS, f.MatchedToken)
}

// event makes a part of an event.
func (c *chatParts) event(o *choiceParts, e *output.Event, m *merger) {
	switch e.Kind {
	case output.ReasoningDelta:
		if !c.silent {
			m.add(part{reasoning: e.Text})
		}
	case output.ContentDelta:
		m.add(part{content: e.Text})
	case output.CallOpened:
		t, id := c.tools.find(e.Name), c.id(o, e)
		if t.custom {
			o.inputOf, o.inputAt, o.input = t, e.Index, o.input[:0]
		}
		m.add(part{call: &callPart{index: e.Index, id: id, tool: t}})
	case output.ArgumentsDelta:
		if o.inputOf != nil {
			o.input = append(o.input, e.Text...)
			return
		}
		m.add(part{call: &callPart{index: e.Index, arguments: e.Text}})
	case output.CallClosed:
		o.calls++
		o.endInput(m, customText)
	}
}

// endInput gives the text of the custom tool whose call is open, if there is one.
func (o *choiceParts) endInput(m *merger, text func(arguments []byte) string) {
	if o.inputOf != nil {
		m.add(part{call: &callPart{index: o.inputAt, tool: o.inputOf, arguments: text(o.input)}})
		o.inputOf = nil
	}
}

// id is the id of a call: the model's, if it is one that others do not have.
func (c *chatParts) id(o *choiceParts, e *output.Event) string {
	id := e.ID
	if id == "" || len(id) > maxCallID || slices.Contains(o.ids, id) {
		var random [24]byte
		rand.Read(random[:]) // never fails
		id = c.format.ID.New(e.Name, c.before+e.Index, random)
	}
	o.ids = append(o.ids, id)
	return id
}

// maxCallID bounds an id that the model makes up, in bytes.
const maxCallID = 64

// customText is the text of a custom tool's call.
func customText(arguments []byte) string {
	var object map[string]any
	if json.Unmarshal(arguments, &object) == nil {
		if text, isText := object[customInput].(string); isText {
			return text
		}
	}
	return string(arguments) // of a model that was not made to follow the schema
}

// cutText is customText where the output was cut within the arguments.
func cutText(arguments []byte) string {
	const escape = len(`\ud83d\ude00`) // the longest one, of which a part may be at the end
	for n := range min(escape, len(arguments)+1) {
		closed := append(arguments[:len(arguments)-n:len(arguments)-n], `"}`...)
		if json.Valid(closed) {
			return strings.TrimSuffix(customText(closed), "\uFFFD") // half a character
		}
	}
	return ""
}

// finish is why an output has ended, with the calls taken into account.
func (c *chatParts) finish(out *messages.CallOutput) *string {
	if out.Finish == nil {
		return nil
	}
	if c.choice(out.Index).calls == 0 || c.cut(out.Finish) {
		return finishWord(out.Finish)
	}
	if c.tools.legacy {
		return new("function_call")
	}
	return new("tool_calls")
}

// merger joins neighbours of one kind.
type merger struct {
	send func(part)
	last part
}

func (m *merger) add(p part) {
	last := &m.last
	switch {
	case p.reasoning != "" && last.reasoning != "":
		last.reasoning += p.reasoning
	case p.content != "" && last.content != "":
		last.content += p.content
	case p.call != nil && p.call.id == "" && last.call != nil && last.call.index == p.call.index:
		last.call.arguments += p.call.arguments
	default:
		m.flush()
		m.last = p
	}
}

func (m *merger) flush() {
	if m.last != (part{}) {
		m.send(m.last)
	}
	m.last = part{}
}
