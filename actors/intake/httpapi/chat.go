package httpapi

import (
	"errors"
	"net/http"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat"
)

// chatRequest is the body of /v1/chat/completions.
type chatRequest struct {
	sampling
	accounting
	refusable
	stream
	scheduling
	Model               string        `json:"model"`
	Messages            templateValue `json:"messages"`
	MaxTokens           *int          `json:"max_tokens"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"`
	Logprobs            *bool         `json:"logprobs"`
	TopLogprobs         *int          `json:"top_logprobs"`
	RID                 string        `json:"rid"`
	TemplateArgs        templateValue `json:"chat_template_kwargs"`
	AddGenerationPrompt *bool         `json:"add_generation_prompt"`
}

// stream are the parameters of a streamed answer.
type stream struct {
	Stream        *bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage       *bool `json:"include_usage"`
		IncludeObfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
}

func (s *stream) on() bool { return s.Stream != nil && *s.Stream }

func (s *stream) includeUsage() bool {
	return s.StreamOptions != nil && s.StreamOptions.IncludeUsage != nil && *s.StreamOptions.IncludeUsage
}

func (s *stream) check() *apiError {
	if s.StreamOptions != nil && !s.on() {
		return invalid("stream_options", "stream_options is only for stream: true; leave it out or stream")
	}
	if s.StreamOptions != nil && s.StreamOptions.IncludeObfuscation != nil && *s.StreamOptions.IncludeObfuscation {
		return unsupported("stream_options.include_obfuscation", "leave it out or send false")
	}
	return nil
}

type chatResponse struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
	Choices     any    `json:"choices"`         // []chatChoice, or []chatChunk in a stream
	Usage       any    `json:"usage,omitempty"` // *usage; nil leaves it out, a nil *usage is null
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

type chatMessage struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) *apiError {
	var req chatRequest
	job, err := s.decode(w, r, &req)
	if err != nil {
		return err
	}
	defer job.end()
	subs, err := s.prepareChat(r, &req)
	if err != nil {
		return err
	}
	if err := s.prepared(job, subs, nil, 1, "n"); err != nil {
		return err
	}
	id := "chatcmpl-" + newID()
	c, err := s.begin(r.Context(), orElse(req.RID, id), subs)
	if err != nil {
		return err.named("prompt", "messages")
	}
	head := chatResponse{ID: id, Object: "chat.completion", Created: s.Now().Unix(), Model: s.Model.ID, Fingerprint: s.fingerprint()}
	logprobs := req.Logprobs != nil && *req.Logprobs
	if req.on() {
		head.Object = "chat.completion.chunk"
		return s.streamChat(w, r, c, head, logprobs, req.includeUsage())
	}
	outputs, err := c.collect(r.Context())
	if err != nil {
		return err
	}
	total, choices := &usage{}, make([]chatChoice, len(outputs))
	for i, out := range outputs {
		total.add(out.Usage, i == 0)
		choices[i] = chatChoice{Index: i, Message: chatMessage{Role: "assistant", Content: out.Text}, FinishReason: finishWord(out.Finish)}
		if logprobs {
			choices[i].Logprobs = newChatLogprobs(&s.Model, out.Tokens)
		}
	}
	head.Choices, head.Usage = choices, total
	writeJSON(w, http.StatusOK, head)
	return nil
}

// prepareChat turns a checked body into submissions.
func (s *Server) prepareChat(r *http.Request, req *chatRequest) ([]messages.Submission, *apiError) {
	if err := firstOf(s.checkModel(req.Model), refuseSet("", req.refusable), req.stream.check()); err != nil {
		return nil, err
	}
	most := maxTokens{"max_tokens", req.MaxTokens, 1}
	if req.MaxCompletionTokens != nil {
		if err := differ("", "max_tokens", req.MaxTokens, "max_completion_tokens", req.MaxCompletionTokens); err != nil {
			return nil, err
		}
		most = maxTokens{"max_completion_tokens", req.MaxCompletionTokens, 1}
	}
	params, err := req.sampling.params(&s.Model, most, s.Seed)
	if err != nil {
		return nil, err
	}
	switch {
	case req.TopLogprobs != nil && (req.Logprobs == nil || !*req.Logprobs):
		return nil, invalid("top_logprobs", "top_logprobs needs logprobs: true")
	case req.TopLogprobs != nil && (*req.TopLogprobs < 0 || *req.TopLogprobs > maxTopLogprobs):
		return nil, outside("top_logprobs", *req.TopLogprobs, 0, maxTopLogprobs)
	case req.TopLogprobs != nil:
		params.TopLogprobs = *req.TopLogprobs
	case req.Logprobs != nil && *req.Logprobs:
		params.TopLogprobs = 0
	}
	ids, err := s.renderChat(r, req)
	if err != nil {
		return nil, err
	}
	base := s.submission(r.Context(), &req.scheduling, req.User)
	base.Stream = req.on()
	return req.sampling.submissions([]prompt{{ids: ids}}, params, base, s.Seed), nil
}

// renderChat applies the model's template and tokenises the prompt.
func (s *Server) renderChat(r *http.Request, req *chatRequest) ([]int32, *apiError) {
	if fault := s.Model.TemplateFault; fault != nil {
		return nil, invalid("messages", "the chat template of the model %s cannot be used: %v; use /v1/completions, which needs none", own(s.Model.ID), own(fault))
	}
	if s.Model.Template == nil {
		return nil, invalid("messages", "the model %s has no chat template; use /v1/completions, or serve it with --chat-template FILE", own(s.Model.ID))
	}
	conversation, err := chatMessages(req.Messages.value)
	if err != nil {
		return nil, err
	}
	args, err := templateArgs(req.TemplateArgs.value)
	if err != nil {
		return nil, err
	}
	ids, failed := s.Model.EncodeChat(r.Context(), chat.Input{Messages: conversation, Now: s.Now(), Extra: args,
		AddGenerationPrompt: req.AddGenerationPrompt == nil || *req.AddGenerationPrompt}, s.rules.Load().SpecialTokens)
	var long *PromptTooLongError
	switch {
	case failed != nil && r.Context().Err() != nil:
		return nil, clientGone(r.Context(), nil)
	case errors.As(failed, &long):
		err := invalid("messages", "%s", own(long))
		err.Code = "context_length_exceeded"
		return nil, err
	case failed != nil:
		return nil, invalid("messages", "the model's chat template rejects these messages: %v", failed)
	}
	if len(ids) == 0 {
		return nil, invalid("messages", "the prompt of these messages is empty; send at least one message with content")
	}
	return ids, nil
}

// streamChat writes chunks as outputs come.
func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, c *call, head chatResponse, logprobs, withUsage bool) *apiError {
	total, started := &usage{}, make([]bool, c.open)
	if withUsage {
		head.Usage = (*usage)(nil)
	}
	return s.stream(w, r, c, func(events *sse, out *messages.CallOutput) {
		if out.Finish != nil {
			total.add(out.Usage, out.Index == 0)
		}
		send := func(one chatChunk) {
			one.Index = out.Index
			chunk := head
			chunk.Choices = []chatChunk{one}
			events.add(chunk)
		}
		s.chatChunks(out, &started[out.Index], logprobs, send)
	}, func(events *sse) {
		if withUsage {
			head.Choices, head.Usage = []chatChunk{}, total
			events.add(head)
		}
	})
}

// chatChunks is one output as chunks: the role first, then content, and the
// reason to finish in a chunk with an empty delta.
func (s *Server) chatChunks(out *messages.CallOutput, started *bool, logprobs bool, send func(chatChunk)) {
	if !*started {
		*started = true
		empty := ""
		send(chatChunk{Delta: chatDelta{Role: "assistant", Content: &empty}})
	}
	if out.Text != "" || len(out.Tokens) > 0 && logprobs {
		one := chatChunk{Delta: chatDelta{Content: &out.Text}}
		if logprobs {
			one.Logprobs = newChatLogprobs(&s.Model, out.Tokens)
		}
		send(one)
	}
	if out.Finish != nil {
		send(chatChunk{FinishReason: finishWord(out.Finish)})
	}
}

func finishWord(f *messages.Finish) *string {
	word := string(f.Reason)
	return &word
}
