package output

import (
	"context"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// pairs are the marks of thoughts that Detect looks for.
var pairs = []Reasoning{think, seedThink, mistral, cohereThink, apriel, apertus,
	{Open: "◁think▷", Close: "◁/think▷"}}

// detectReasoning finds the marks around thoughts: those that the template writes around a thought
// or at the end of a prompt, else those of the format, else those in the source.
func detectReasoning(ctx context.Context, t *chat.Template, o DetectOptions, f *Format) {
	var written []string
	for _, key := range []string{"reasoning_content", "reasoning", "thinking", "content"} {
		for _, tools := range []any{nil, probeTools} {
			p := &probe{template: t, o: o, history: History{ArgumentsText: f.History.ArgumentsText, Reasoning: key}, tools: tools}
			after, _ := p.answer(ctx, p.message(probeReasoning, probeContent, false))
			called, _ := p.answer(ctx, p.message(probeReasoning, "", tools != nil))
			// A template that does not know blocks may write them as it writes any value.
			known := strings.Contains(after+called, probeReasoning) && !strings.Contains(after+called, "thinking'") && !strings.Contains(after+called, `thinking"`)
			if written = append(written, after, called); known {
				f.History.Reasoning = key
			}
		}
		if f.History.Reasoning != "" {
			break
		}
	}
	for _, extra := range []map[string]any{nil, {"enable_thinking": true}} {
		p := &probe{template: t, o: o}
		prompt := p.render(ctx, true, extra)
		written = append(written, prompt+probeReasoning)
	}
	if f.Messages == nil {
		f.Reasoning = pairIn(t, written, f.Reasoning)
	}
}

// pairIn finds the marks before the thought in texts that a template wrote.
func pairIn(t *chat.Template, written []string, usual Reasoning) Reasoning {
	for _, r := range append([]Reasoning{usual}, pairs...) {
		for _, text := range written {
			before, _, found := strings.Cut(text, probeReasoning)
			if r.Close != "" && found && strings.HasSuffix(strings.TrimSpace(before), strings.TrimSpace(r.Open)) {
				return r
			}
		}
	}
	if usual.Close != "" {
		return usual
	}
	for _, r := range pairs {
		if t.Contains(r.Close) {
			return r
		}
	}
	return Reasoning{}
}

// Opened returns the end of a prompt that belongs to the output: a mark that begins thoughts or a
// call, with the white space around it. It is for Options.Opened.
func (f *Format) Opened(prompt string) string {
	marks := []string{f.Reasoning.Open}
	if f.Calls != nil && f.Calls.Call.Content != "" {
		marks = append(marks, f.Calls.Call.Open)
	}
	bare := strings.TrimRight(prompt, " \t\r\n")
	for _, mark := range marks {
		mark = strings.TrimRight(mark, " \t\r\n")
		if mark != "" && strings.HasSuffix(bare, mark) {
			return prompt[len(bare)-len(mark):]
		}
	}
	return ""
}
