package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// separation are the switches for thoughts in an answer.
type separation struct {
	Separate  *bool   `json:"separate_reasoning"` // SGLang's: false leaves thoughts in the content
	Reasoning *string `json:"reasoning_format"`   // llama.cpp's: none does so, too
	Include   *bool   `json:"include_reasoning"`  // vLLM's: false leaves thoughts out of the answer
}

// keep reports whether thoughts stay in the content.
func (s *separation) keep() (bool, *apiError) {
	switch format := given(s.Reasoning, "auto"); format {
	case "none":
		return true, nil
	case "auto", "deepseek":
		return !given(s.Separate, true), nil
	default:
		return false, invalid("reasoning_format", `reasoning_format is %q; it must be "auto", "deepseek" or "none"`, clip(format, 64))
	}
}

// formatFor is the format of the answer to a request with tools, or without (nil).
func (m *Model) formatFor(t *toolbox) (*output.Format, *apiError) {
	switch {
	case !t.may(), m.knowsTools():
		return &m.Format, nil
	case t.required:
		plain := output.Plain(m.Format)
		return &plain, nil
	}
	return nil, invalid("tool_choice", `the chat template of the model %s has no tools, so the model cannot choose to call one; set tool_choice to "required", to a tool, or to "none"`, own(m.ID))
}

// toolTemplate is the template for conversations with tools.
func (m *Model) toolTemplate() *chat.Template { return cmp.Or(m.ToolTemplate, m.Template) }

// knowsTools reports whether the template shows tools and the calls of its models are understood.
func (m *Model) knowsTools() bool {
	return (m.Format.Calls != nil || m.Format.Messages != nil) && m.toolTemplate().HasVariable("tools")
}

// chatSpec is what a grammar says about an answer; nil if it says nothing.
func chatSpec(talk *conversation, content *source, budget bool) *outputs.Spec {
	t, thinks := talk.tools, talk.format.Thinks()
	if !t.may() && (content == nil && !budget || !thinks) {
		return nil
	}
	spec := &outputs.Spec{Format: *talk.format, Opened: talk.format.Opened(talk.end), NoThoughts: thoughtsClosed(talk.format, talk.end)}
	spec.Format.History = output.History{} // so that equal grammars are found
	if content != nil {
		spec.Content = &outputs.Text{Kind: string(content.src.Kind), Text: content.src.Text}
	}
	if t.may() {
		spec.Required, spec.Single = t.required, t.single
		for _, one := range t.callable {
			if one.Input != nil {
				one.Parameters = nil // it says what they are
			}
			spec.Tools = append(spec.Tools, one.Tool)
		}
	}
	return spec
}

// thoughtsClosed reports whether a prompt ends behind thoughts, as with enable_thinking: false.
func thoughtsClosed(format *output.Format, prompt string) bool {
	mark := strings.TrimSpace(format.Reasoning.Close)
	return mark != "" && strings.HasSuffix(strings.TrimSpace(prompt), mark)
}

// constrain makes the grammar of a chat's answer out of its parts.
func (req *chatRequest) constrain(m *Model, talk *conversation, params *messages.SamplingParams) *apiError {
	t, content := talk.tools, req.chosen
	budget, budgetName, err := req.reasoning.budget()
	if err != nil {
		return err
	}
	if budget != nil && !talk.format.Thinks() {
		talk.ignored, budget = append(talk.ignored, budgetName), nil
	}
	if budget != nil && talk.format.Reasoning.EndedByCall {
		// The mark that ends thoughts has to come before calls, or it would be made to come in one.
		ended := *talk.format
		ended.Reasoning.EndedByCall = false
		talk.format = &ended
	}
	spec := chatSpec(talk, content, budget != nil)
	if spec == nil {
		return nil
	}
	if m.Grammars == nil {
		name := "tool_choice"
		switch {
		case budget != nil:
			name = budgetName
		case t == nil || !t.required:
			return nil // what the model writes is read as it comes
		}
		return invalid(name, "%s needs a grammar, which cannot be used: %v", name, m.GrammarFault).coded("unsupported_parameter")
	}
	text, failed := json.Marshal(spec)
	if failed != nil {
		return internal("the grammar of an answer cannot be written: %v", failed)
	}
	req.chosen = &source{t.param(content, budgetName), grammar.Source{Kind: grammar.Output, Text: string(text)}, func(at string) (string, string) {
		return t.place(content, budgetName, at)
	}}
	params.Grammar = &messages.Grammar{Kind: string(req.chosen.src.Kind), Text: req.chosen.src.Text}
	if budget != nil && !spec.NoThoughts {
		params.Grammar.Thoughts = m.thoughts(talk.format, spec.Opened, *budget)
	}
	return nil
}

// parts reads the answer to a chat; nil: all of it is content.
func (req *chatRequest) parts(m *Model, talk *conversation, choices int) (*chatParts, *apiError) {
	keep, err := req.separation.keep()
	if err != nil {
		return nil, err
	}
	f, t := talk.format, talk.tools
	if !f.Thinks() && len(f.Drop) == 0 && !t.may() {
		return nil, nil
	}
	p := &chatParts{model: m, format: f, before: talk.calls, taken: talk.callIDs, silent: !given(req.Include, true),
		visible: !given(req.SkipSpecialTokens, true), choices: make([]choiceParts, choices)}
	p.options = output.Options{KeepReasoning: keep, Opened: f.Opened(talk.end)}
	// A grammar allows complete calls only. Without one, a call is shown when it is one.
	p.options.Hold = !req.on() || req.chosen == nil
	if t.may() {
		// Their JSON is a part of the body, which is large and not charged while the answer comes.
		p.tools = &toolbox{legacy: t.legacy}
		for _, one := range t.callable {
			one.Parameters = bytes.Clone(one.Parameters)
			p.tools.callable = append(p.tools.callable, one)
			p.options.Tools = append(p.options.Tools, output.Tool{Name: one.Name, Parameters: one.Parameters})
		}
	}
	return p, nil
}

// thoughts bounds the thoughts of an answer.
func (m *Model) thoughts(f *output.Format, opened string, budget int) *messages.Thoughts {
	open, mark := f.Thoughts()
	t := &messages.Thoughts{Tokens: budget, Open: open, Mark: mark, End: m.Tokenizer.Encode(mark, tokenizer.EncodeOptions{ParseSpecial: true})}
	if opened != "" || f.Reasoning.Implied {
		t.Open = ""
	}
	return t
}

// param is the parameter that an answer's grammar is mostly about.
func (t *toolbox) param(content *source, budget string) string {
	switch {
	case !t.may() && content == nil:
		return budget
	case !t.may():
		return content.name
	case t.legacy:
		return "functions"
	}
	return "tools"
}

// place translates a place in a spec into a parameter and the rest of the place.
func (t *toolbox) place(content *source, budget, at string) (param, rest string) {
	if rest, ok := strings.CutPrefix(at, "/content"); ok && content != nil {
		return content.name, textPlace(rest)
	}
	param = t.param(content, budget)
	rest, ok := strings.CutPrefix(at, "/tools/")
	number, rest, _ := strings.Cut(rest, "/")
	index, err := strconv.Atoi(number)
	if !ok || err != nil || index < 0 || index >= len(t.callable) {
		return param, at
	}
	one := &t.callable[index]
	field, rest, more := strings.Cut(rest, "/")
	if more {
		rest = "/" + rest
	}
	line, isInput := strings.CutPrefix(field, "input")
	switch {
	case isInput:
		return one.at + ".format.grammar.definition", textPlace(line)
	case field == "":
		return one.at, rest
	}
	return one.at + "." + field, rest
}

// textPlace is a place in a text, such as line 1, column 8, without what joins it to a pointer.
func textPlace(rest string) string { return strings.TrimPrefix(rest, ", ") }
