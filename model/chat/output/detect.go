package output

import (
	"context"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// DetectOptions are what the template is rendered with.
type DetectOptions struct {
	BOS, EOS string
	Extra    map[string]any // as chat.Input.Extra
}

// Detect finds the format of a template. It lets the template write a call and takes the format
// that reads it back. If the template writes none, the format's marks in its source decide. The
// marks of thoughts are found likewise. A template with unknown marks around calls in JSON has a
// format "json" that is made of them; one without calls has the name "content". A cancelled context
// ends the search early, with what was found so far.
//
// The template renders about thirty short conversations, within its own bounds.
func Detect(ctx context.Context, t *chat.Template, o DetectOptions) Format {
	f := detectCalls(ctx, t, o)
	detectReasoning(ctx, t, o, &f)
	return f
}

func detectCalls(ctx context.Context, t *chat.Template, o DetectOptions) Format {
	// A template may write an id as it comes, in which a format has the name.
	indexed := IndexID.New(probeTool, 0, [24]byte{})
	for _, try := range []struct {
		content any
		text    bool
		id      string
	}{{"", false, ""}, {"", true, ""}, {nil, false, ""}, {nil, true, ""}, {"", false, indexed}, {"", true, indexed}} {
		p := &probe{template: t, o: o, history: History{ArgumentsText: try.text, NullContent: try.content == nil}, tools: probeTools, id: try.id}
		after, written := p.answer(ctx, p.message("", try.content, true))
		if !strings.Contains(after, probeTool) {
			continue
		}
		if f, ok := reader(after, written); ok {
			f.History = p.history
			f.lead(ctx, p)
			return f
		}
		if f, ok := derive(ctx, p); ok && f.reads(after, written) {
			f.History = p.history
			return f
		}
	}
	for _, f := range catalogue {
		if f.in(t) {
			return f
		}
	}
	return Format{Name: "content"}
}

// reader finds the format that reads the probe's call in a text and leaves the least content.
func reader(after, written string) (best Format, found bool) {
	least := 0
	for _, f := range catalogue {
		if left, ok := f.read(after, written); ok && (!found || left < least) {
			best, least, found = f, left, true
		}
	}
	return best, found
}

func (f *Format) reads(after, written string) bool {
	_, ok := f.read(after, written)
	return ok
}

// read reports whether a format reads the probe's call, and how much content it leaves.
func (f *Format) read(after, written string) (left int, ok bool) {
	text := after
	if f.Calls != nil && f.Calls.AtStart {
		text = written
	}
	if f.Messages != nil {
		start := f.Messages.Start + f.Messages.Role
		text = text[max(0, strings.LastIndex(text, start)+len(start)):]
	}
	m := Read(f, Options{Tools: []Tool{{Name: probeTool}}}, text, false)
	return len(m.Content), len(m.Calls) == 1 && strings.ReplaceAll(m.Calls[0].Arguments, " ", "") == `{"`+probeKey+`":"`+probeValue+`"}`
}

// lead finds what the template writes between content and a call.
func (f *Format) lead(ctx context.Context, p *probe) {
	if f.Calls == nil {
		return
	}
	after, _ := p.answer(ctx, p.message("", probeContent, true))
	_, rest, found := strings.Cut(after, probeContent)
	for _, open := range []string{f.Calls.Begin, f.Calls.Call.Open} {
		lead, _, ok := strings.Cut(rest, open)
		if found && ok && open != "" && strings.TrimSpace(lead) == "" {
			calls := *f.Calls
			calls.Lead = lead
			f.Calls = &calls
			return
		}
	}
}

// hints are texts of templates that do not write their calls and do not name their marks.
var hints = map[string][]string{"lfm2": {"<|tool_list_start|>", "List of tools: ["}}

// in reports whether a template's source has the marks of a format.
func (f *Format) in(t *chat.Template) bool {
	for _, text := range hints[f.Name] {
		if t.Contains(text) {
			return true
		}
	}
	if f.Messages != nil {
		return t.Contains(f.Messages.Channel) && t.Contains(f.Messages.Body)
	}
	c := f.Calls
	if c.AtStart && c.Begin == "" {
		return false
	}
	for _, mark := range []string{c.Begin, c.Call.Open} {
		// In the source a newline is an escape.
		mark, _, _ = strings.Cut(mark, "\n")
		if !t.Contains(mark) {
			return false
		}
	}
	for _, h := range c.Call.Headers[:min(1, len(c.Call.Headers))] {
		for _, part := range Pieces(h) {
			for _, word := range strings.Fields(strings.ReplaceAll(part.Literal, `"`, " ")) {
				if !t.Contains(word) {
					return false
				}
			}
		}
	}
	if c.Call.Arguments == XML && !t.Contains(c.Call.Params.Open) {
		return false
	}
	return true
}
