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
	tools   *toolbox // with those that may be called only; nil: none may
	// visible leaves special tokens in the content, as the client asked for.
	visible bool
	before  int             // calls in the conversation
	taken   map[string]bool // their ids
	silent  bool            // thoughts are left out of the answer
	choices []choiceParts
}

// choiceParts is one output under way.
type choiceParts struct {
	parser *output.Parser
	bytes  int // of the text so far

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
		at, end := t.TextOffset-one.bytes, len(text)
		if i+1 < len(out.Tokens) {
			end = out.Tokens[i+1].TextOffset - one.bytes
		}
		start := min(max(at, from), len(text))
		end = min(max(end, start), len(text))
		add(one.parser.Push(text[from:start]))
		thinking := one.parser.Reasoning()
		// If the end of a special token could have become a stop string, its begin came without
		// the token and was read as text. Then the end is, too: together they may be a mark.
		if !c.visible && at >= from && c.model.Tokenizer.IsSpecial(t.Token) {
			add(one.pushSpecial(text[start:end], string(c.model.Tokenizer.TokenBytes(t.Token))))
		} else {
			add(one.parser.Push(text[start:end]))
		}
		if thinking || one.parser.Reasoning() {
			one.thoughts++
		}
		from = end
	}
	add(one.parser.Push(text[from:]))
	one.bytes += len(text)
	if out.Finish != nil {
		add(one.parser.Finish(c.cut(out.Finish)))
		one.endInput(&m, cutText)
	}
	m.flush()
}

// pushSpecial reads text that begins with a special token, or with a part of one that a stop
// string has cut.
func (o *choiceParts) pushSpecial(text, token string) []output.Event {
	rest, whole := strings.CutPrefix(text, token)
	switch {
	case whole && rest == "":
		return o.parser.PushSpecial(token)
	case whole:
		return append(slices.Clone(o.parser.PushSpecial(token)), o.parser.Push(rest)...)
	case strings.HasPrefix(token, text):
		return nil
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
	case output.CallBroken: // deeper than the parser takes
		o.inputOf = nil
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
	if id == "" || len(id) > maxCallID || c.taken[id] || slices.Contains(o.ids, id) {
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
	last part // without its text
	text []byte
}

func (m *merger) add(p part) {
	last, text := &m.last, ""
	joins := false
	switch {
	case p.call != nil:
		text, p.call.arguments = p.call.arguments, ""
		joins = p.call.id == "" && last.call != nil && last.call.index == p.call.index
	case p.reasoning != "":
		text, joins = p.reasoning, last.reasoning != ""
	default:
		text, joins = p.content, last.content != ""
	}
	if !joins {
		m.flush()
		m.last = p
	}
	m.text = append(m.text, text...)
}

func (m *merger) flush() {
	p, text := m.last, string(m.text)
	m.last, m.text = part{}, m.text[:0]
	switch {
	case p.call != nil:
		p.call.arguments = text
	case p.reasoning != "":
		p.reasoning = text
	case p.content != "":
		p.content = text
	default:
		return
	}
	m.send(p)
}
