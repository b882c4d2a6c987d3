package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

// partner answers a conversation and writes the text as it comes.
type partner interface {
	name() string
	answer(ctx context.Context, messages []node.Message, write func(string) error) (*node.Answer, error)
}

// here is a model in this process.
type here struct {
	node     *node.Node
	sampling node.Sampling
}

func (h *here) name() string { return h.node.Name }

func (h *here) answer(ctx context.Context, messages []node.Message, write func(string) error) (*node.Answer, error) {
	ids, err := h.node.EncodeChat(ctx, messages)
	if err != nil {
		return nil, err
	}
	return h.node.Complete(ctx, ids, h.sampling, false, write)
}

// away is a running server, of any kind that has OpenAI's API.
type away struct {
	server *serverapi.Server
	model  string
	body   map[string]any // parameters of each request
	note   string         // about the choice of the model; "": there was none
}

// newAway asks a server for a model; "": for its first one.
func newAway(ctx context.Context, server *serverapi.Server, model string, s node.Sampling) (*away, error) {
	text, err := server.Get(ctx, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(text, &list); err != nil || len(list.Data) == 0 {
		return nil, fmt.Errorf("the server at %s lists no models; check --url", server.Base)
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	note := ""
	switch {
	case model == "" && len(ids) > 1:
		note = fmt.Sprintf("Using the model %s. The server also has %s; choose one with --model", ids[0], some(ids[1:]))
	case model != "" && !slices.Contains(ids, model):
		return nil, fmt.Errorf("the server at %s does not have the model %q; it has %s", server.Base, model, some(ids))
	}
	model = cmp.Or(model, ids[0])
	a := &away{server, model, map[string]any{"model": model, "stream": true, "stream_options": map[string]any{"include_usage": true}}, note}
	if s.MaxTokens > 0 {
		a.body["max_tokens"] = s.MaxTokens
	}
	for flag, value := range map[string]any{"temperature": s.Temperature, "top-p": s.TopP, "top-k": s.TopK, "seed": s.Seed} {
		if s.Set(flag) {
			a.body[strings.ReplaceAll(flag, "-", "_")] = value
		}
	}
	return a, nil
}

// some lists names, but not hundreds.
func some(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	return configs.List(names, "and")
}

func (a *away) name() string { return a.model + " at " + a.server.Base.String() }

// chunk is an event of a stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"` // what the model thinks before it answers
		}
		Finish string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error *struct{ Message string }
}

func (a *away) answer(ctx context.Context, messages []node.Message, write func(string) error) (*node.Answer, error) {
	a.body["messages"] = messages
	document, err := json.Marshal(a.body)
	if err != nil {
		return nil, err
	}
	stream, err := a.server.PostStream(ctx, "/v1/chat/completions", document)
	if err != nil {
		return nil, a.broken(ctx, err)
	}
	defer stream.Close()
	whole, ended, thinks := &node.Answer{}, false, false
	each := func(_, data []byte) error {
		if string(data) == "[DONE]" {
			ended = true
			return nil
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return errors.New("the server sent an event that is not JSON; check that --url is an OpenAI-compatible server")
		}
		if c.Error != nil {
			return errors.New(c.Error.Message)
		}
		if c.Usage != nil {
			whole.Usage = node.Usage{Prompt: c.Usage.Prompt, Completion: c.Usage.Completion, Cached: c.Usage.Details.Cached}
		}
		for _, choice := range c.Choices {
			whole.Text += choice.Delta.Content
			if choice.Finish != "" {
				whole.Finish = choice.Finish
			}
			text := choice.Delta.Reasoning + choice.Delta.Content
			switch {
			case choice.Delta.Reasoning != "" && !thinks:
				thinks, text = true, "(thinking) "+text
			case choice.Delta.Content != "" && thinks:
				thinks, text = false, "\n\n"+text
			}
			if err := write(text); err != nil {
				return err
			}
		}
		return nil
	}
	var events wire.Events
	buffer := make([]byte, 32<<10)
	for !ended {
		n, err := stream.Read(buffer)
		if failed := events.Feed(buffer[:n], each); failed != nil {
			return nil, failed
		}
		switch {
		case ended:
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the answer of the server ended early, at %s; /retry asks again", a.server.Base)
		case err != nil:
			return nil, a.broken(ctx, err)
		}
	}
	return whole, nil
}

// broken is the error of a request without a whole answer: the context's if that has ended it.
func (a *away) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, lost) {
			return fmt.Errorf("the connection to the server at %s was lost (%w); /retry asks again", a.server.Base, lost)
		}
	}
	return err
}
