package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Values of Options.SpecialTokens, see docs/decisions/0017-special-tokens.md.
const (
	SpecialTokensText  = "text"  // special tokens in a client's messages are text like any other
	SpecialTokensParse = "parse" // they are recognised, as Hugging Face does it
)

// conversation is a chat as the model sees it, and how its answer is read.
type conversation struct {
	ids     []int32
	end     string // of the prompt's text
	calls   int    // in the messages
	callIDs map[string]bool
	tools   *toolbox
	format  *output.Format

	ignored []string // parameters without effect
}

// promptEnd is how much of a prompt's text is kept, in bytes: marks that begin an answer are in it.
const promptEnd = 256

// renderChat applies the model's template and tokenises the prompt.
func (s *Server) renderChat(r *http.Request, m *Model, req *chatRequest, args map[string]any) (*conversation, *apiError) {
	if fault := m.TemplateFault; fault != nil {
		return nil, invalid("messages", "the chat template of the model %s cannot be used: %v; use /v1/completions, which needs none", own(m.ID), own(fault))
	}
	if m.Template == nil {
		return nil, invalid("messages", "the model %s has no chat template; use /v1/completions, or start the server with chat-template", own(m.ID))
	}
	if err := checkMessages(req.Messages.value); err != nil {
		return nil, err
	}
	talk := &conversation{}
	talk.calls, talk.callIDs = callsIn(req.Messages.value)
	var err *apiError
	if talk.tools, err = req.calling.read(); err != nil {
		return nil, err
	}
	if talk.format, err = m.formatFor(talk.tools); err != nil {
		return nil, err
	}
	shown := talk.tools != nil && talk.tools.shown != nil
	template := m.Template
	if shown || talk.calls > 0 {
		template = m.toolTemplate()
	}
	in := chat.Input{Now: s.Now(), Extra: args, AddGenerationPrompt: given(req.AddGenerationPrompt, true)}
	var failed error
	in.Messages, failed = m.history(template, req.Messages.value.(*chat.List), talk)
	if shown && template.HasVariable("tools") {
		in.Tools = talk.tools.shown
	}
	var prompt prompt
	if failed == nil {
		prompt, failed = m.encodeChat(r.Context(), template, in, s.rules.Load().SpecialTokens)
	}
	var long promptTooLong
	switch {
	case failed != nil && r.Context().Err() != nil:
		return nil, clientGone(r.Context(), nil)
	case errors.As(failed, &long):
		return nil, invalid("messages", "%s", own(long)).coded(codeTooLong)
	case failed != nil:
		return nil, invalid("messages", "the model's chat template rejects these messages: %v", failed)
	case len(prompt.ids) == 0:
		return nil, invalid("messages", "the prompt of these messages is empty; send at least one message with content")
	}
	talk.ids, talk.end = prompt.ids, strings.Clone(prompt.text[max(0, len(prompt.text)-promptEnd):])
	return talk, nil
}

// history makes the messages what a template of the model understands.
func (m *Model) history(template *chat.Template, messages *chat.List, talk *conversation) (prepared any, err error) {
	if talk.calls > 0 && !template.Mentions("tool_calls") {
		messages, err = m.plainHistory(messages)
	}
	if err == nil && talk.tools != nil && talk.tools.shown != nil && !template.HasVariable("tools") {
		messages, err = plainTools(messages, talk.tools.shown)
	}
	if err != nil {
		return nil, m.unrendered(err)
	}
	return m.Format.History.Prepare(messages), nil
}

// templateArgs reads chat_template_kwargs, further variables for the template.
func templateArgs(value any) (map[string]any, *apiError) {
	if value == nil {
		return nil, nil
	}
	given, isDict := value.(*chat.Dict)
	if !isDict {
		return nil, invalid("chat_template_kwargs", "chat_template_kwargs must be an object")
	}
	args := make(map[string]any, given.Len())
	for name, v := range given.All() {
		if chat.Reserved(name) {
			return nil, invalid("chat_template_kwargs", "chat_template_kwargs.%s is set by the server and cannot be replaced; leave it out", name)
		}
		args[name] = v
	}
	return args, nil
}

// promptTooLong is the error of a chat prompt with too many tokens or bytes.
type promptTooLong struct{ error }

// unrendered is an error of rendering as a promptTooLong, if it is one.
func (m *Model) unrendered(err error) error {
	if long, is := errors.AsType[*chat.LengthError](err); is {
		return promptTooLong{fmt.Errorf("the prompt, or a text in it, has at least %d bytes, but this server accepts at most %d, because prompts have at most %d tokens; shorten the messages, or the tools if there are any", long.Bytes, long.Max, m.Context-1)}
	}
	return err
}

// EncodeChat applies the model's template to a conversation and tokenises the
// prompt. It sets the fields of the input that depend on the model. Special tokens
// come only from the template, so none is added. A prompt that is far too long for
// the context is refused, mostly by its length.
func (m *Model) EncodeChat(ctx context.Context, in chat.Input, specialTokens string) ([]int32, error) {
	p, err := m.encodeChat(ctx, m.Template, in, specialTokens)
	return p.ids, err
}

// encodeChat does what EncodeChat does, with any template of the model. It also returns the prompt's text.
func (m *Model) encodeChat(ctx context.Context, template *chat.Template, in chat.Input, specialTokens string) (p prompt, err error) {
	tok := m.Tokenizer
	in.BOS, in.EOS = tok.BOSText(), tok.EOSText()
	in.MaxBytes = m.textBytes()
	if specialTokens != SpecialTokensParse {
		in.Follow, _ = tok.SpecialMarks() // too many are refused with the prompt
	}
	rendered, err := template.RenderFollowed(ctx, in)
	if err != nil {
		return p, m.unrendered(err)
	}
	ids := tok.Encode(rendered.Text, tokenizer.EncodeOptions{ParseSpecial: true, Plain: rendered.Client, Max: m.counted()})
	if len(ids) > m.counted() {
		return p, promptTooLong{fmt.Errorf("the prompt has more than %d tokens, but this server accepts prompts of at most %d; shorten the messages, or the tools if there are any", m.counted(), m.Context-1)}
	}
	return prompt{ids, rendered.Text}, nil
}
