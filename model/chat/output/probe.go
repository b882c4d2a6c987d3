package output

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/model/chat"
)

// The texts of the probes are words that no template has.
const (
	probeUser      = "PROBE-QUESTION"
	probeContent   = "PROBE-ANSWER"
	probeReasoning = "PROBE-THOUGHT"
	probeTool      = "probe_tool"
	probeKey       = "probe_key"
	probeValue     = "PROBE-VALUE"
	probeID        = "call12345"
)

// probe renders conversations with a template.
type probe struct {
	template *chat.Template
	o        DetectOptions
	history  History
	tools    any
	id       string // of the call; "": probeID
}

var probeTools = []map[string]any{{"type": "function", "function": map[string]any{
	"name": probeTool, "description": "A tool.", "parameters": map[string]any{
		"type": "object", "required": []string{probeKey},
		"properties": map[string]any{probeKey: map[string]any{"type": "string", "description": "A text."}},
	}}}}

// message is an assistant message with the parts that are not empty.
func (p *probe) message(reasoning string, content any, call bool) map[string]any {
	m := map[string]any{"role": "assistant", "content": content}
	switch {
	case reasoning == "":
	case p.history.Reasoning == "content":
		m["content"] = []any{map[string]any{"type": "thinking", "thinking": reasoning}, map[string]any{"type": "text", "text": content}}
	default:
		m[p.history.Reasoning] = reasoning
	}
	if call {
		var arguments any = map[string]any{probeKey: probeValue}
		if p.history.ArgumentsText {
			arguments = `{"` + probeKey + `": "` + probeValue + `"}`
		}
		m["tool_calls"] = []any{map[string]any{"id": cmp.Or(p.id, probeID), "type": "function",
			"function": map[string]any{"name": probeTool, "arguments": arguments}}}
	}
	return m
}

// render returns the prompt of a question and further messages, "" if the template refuses it.
func (p *probe) render(ctx context.Context, generate bool, extra map[string]any, messages ...map[string]any) string {
	all := append([]map[string]any{{"role": "user", "content": probeUser}}, messages...)
	in := chat.Input{Messages: all, Tools: p.tools, AddGenerationPrompt: generate, BOS: p.o.BOS, EOS: p.o.EOS,
		Now: time.Unix(0, 0).UTC(), Extra: map[string]any{}}
	for k, v := range p.o.Extra {
		in.Extra[k] = v
	}
	for k, v := range extra {
		in.Extra[k] = v
	}
	text, err := p.template.Render(ctx, in)
	if err != nil {
		return ""
	}
	return text
}

// answer returns what the template makes of an assistant message: the text after the question, and
// the part of it that a model would write.
func (p *probe) answer(ctx context.Context, m map[string]any) (after, written string) {
	text := p.render(ctx, false, nil, m)
	prompt := p.render(ctx, true, nil)
	if at := strings.LastIndex(text, probeUser); at >= 0 {
		after = text[at+len(probeUser):]
	}
	if rest, ok := strings.CutPrefix(text, prompt); ok && prompt != "" {
		written = rest
	}
	return after, written
}
