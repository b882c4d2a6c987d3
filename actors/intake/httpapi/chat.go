package httpapi

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// chatRequest is the body of /v1/chat/completions.
type chatRequest struct {
	sampling
	stream
	scheduling
	reasoning
	separation
	calling
	Options             *sampling     `json:"options"` // Ollama's place for sampling parameters
	Model               string        `json:"model"`
	Messages            templateValue `json:"messages"`
	Logprobs            *bool         `json:"logprobs"`
	TopLogprobs         *int          `json:"top_logprobs"`
	RID                 string        `json:"rid"`
	TemplateArgs        templateValue `json:"chat_template_kwargs"`
	AddGenerationPrompt *bool         `json:"add_generation_prompt"`
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      chatMessage   `json:"message"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
}

type chatChunk struct {
	Index        int           `json:"index"`
	Delta        chatDelta     `json:"delta"`
	Logprobs     *chatLogprobs `json:"logprobs,omitempty"`
	FinishReason *string       `json:"finish_reason"`
}

func (s *Server) prepareChat(r *http.Request, req *chatRequest) (*plan, *apiError) {
	served, err := s.reachForCall(req.Model)
	padding := req.stream.padding()
	if err == nil {
		err = req.stream.check()
	}
	if err == nil {
		err = req.sampling.merge("options", req.Options)
	}
	if err != nil {
		return nil, err
	}
	m := &served.Model
	most, err := req.max(1)
	if err != nil {
		return nil, err
	}
	params, err := req.sampling.params(m, most, s.Seed)
	if err != nil {
		return nil, err
	}
	logprobs, top := given(req.Logprobs, false), given(req.TopLogprobs, 0)
	switch {
	case req.TopLogprobs != nil && !logprobs:
		return nil, invalid("top_logprobs", "top_logprobs requires logprobs: true")
	case top < 0 || top > maxTopLogprobs:
		return nil, outside("top_logprobs", top, 0, maxTopLogprobs)
	case logprobs:
		params.TopLogprobs = top
	}
	args, ignored, err := req.templateArgs(m)
	if err != nil {
		return nil, err
	}
	talk, err := s.renderChat(r, m, req, args)
	if err == nil {
		err = req.constrain(m, talk, params)
	}
	if err != nil {
		return nil, err
	}
	id, n := "chatcmpl-"+newID(), req.choices()
	p := &plan{served: served, grammar: req.chosen, rid: cmp.Or(req.RID, id), stream: req.on(), copies: 1, ignored: slices.Concat(ignored, talk.ignored, padding), names: map[string]string{"prompt": "messages"}}
	parts, err := req.parts(m, talk, n)
	if err != nil {
		return nil, err
	}
	if p.stream {
		a := newOpenAIAnswer[chatChunk](r.Context(), s, m, id, "chat.completion.chunk", n, &req.stream, nil)
		if a.convert = chatChunks(m, n, logprobs); parts != nil {
			a.convert = streamParts(parts, &a.total, logprobs)
		}
		p.answer = a
	} else {
		a := newOpenAIAnswer[chatChoice](r.Context(), s, m, id, "chat.completion", n, &req.stream, nil)
		if a.convert = chatChoices(m, logprobs); parts != nil {
			a.convert = wholeParts(parts, &a.total, logprobs)
		}
		p.answer = a
	}
	base := s.submission(r.Context(), &req.scheduling)
	base.Stream = p.stream
	p.subs, err = req.sampling.submissions([]prompt{{ids: talk.ids}}, params, base, s.Seed)
	for i := range p.subs {
		if parts != nil { // marks may be special tokens
			p.subs[i].KeepSpecial = true
		}
	}
	return p, err
}

// chatChoices converts complete outputs.
func chatChoices(m *Model, logprobs bool) func(*messages.CallOutput, func(chatChoice)) {
	return func(out *messages.CallOutput, send func(chatChoice)) {
		one := chatChoice{Index: out.Index, Message: chatMessage{Role: "assistant", Content: &out.Text}, FinishReason: finishWord(out.Finish)}
		if logprobs {
			one.Logprobs = newChatLogprobs(m, out.Tokens)
		}
		send(one)
	}
}

// chatChunks converts outputs of a stream: the role first, then content, and the
// reason to finish in a chunk with an empty delta.
func chatChunks(m *Model, n int, logprobs bool) func(*messages.CallOutput, func(chatChunk)) {
	started := make([]bool, n)
	return func(out *messages.CallOutput, send func(chatChunk)) {
		if !started[out.Index] {
			started[out.Index] = true
			send(chatChunk{Index: out.Index, Delta: chatDelta{Role: "assistant", Content: new("")}})
		}
		if out.Text != "" || len(out.Tokens) > 0 && logprobs {
			one := chatChunk{Index: out.Index, Delta: chatDelta{Content: &out.Text}}
			if logprobs {
				one.Logprobs = newChatLogprobs(m, out.Tokens)
			}
			send(one)
		}
		if out.Finish != nil {
			send(chatChunk{Index: out.Index, FinishReason: finishWord(out.Finish)})
		}
	}
}
