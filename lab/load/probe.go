package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-engine/troupe/lab/figures"
	"github.com/troupe-engine/troupe/lab/load/wire"
)

// Server is what a server was found to be and to take.
type Server struct {
	Model string `json:"model"`
	// OwnedBy is who the list of models says that the model belongs to; most
	// engines write their name.
	OwnedBy string `json:"owned_by,omitempty"`
	// Vocab is how many token ids the model has, 0 where the server does not
	// tell.
	Vocab int `json:"vocab_size,omitempty"`
	// Context is how many tokens a request may have, prompt and output, 0
	// where the server does not tell.
	Context int `json:"context_length,omitempty"`
	// IDs, IgnoreEOS and Usage tell what it takes: prompts of token ids, the
	// parameter ignore_eos, and stream_options with include_usage.
	IDs       bool `json:"takes_token_ids"`
	IgnoreEOS bool `json:"takes_ignore_eos"`
	Usage     bool `json:"takes_include_usage"`
}

func (s *Server) describe() string {
	if s == nil {
		return ""
	}
	text := ", model " + s.Model
	if s.OwnedBy != "" {
		text += " of " + s.OwnedBy
	}
	if s.Context > 0 {
		text += fmt.Sprintf(", context of %s tokens", figures.Grouped(s.Context))
	}
	return text
}

// probeTimeout is how long a server may take to answer a probe; its first
// request may have to wait for a model to be loaded.
const probeTimeout = 5 * time.Minute

// detailTimeout is how long it may take to answer what it need not know.
const detailTimeout = 10 * time.Second

// Learn asks a server for its model, unless o.Frame names one, and finds out by
// requests of one token what it takes of what o wants. wantIDs says whether
// prompts of token ids are of use. The error says what to do.
func Learn(ctx context.Context, o ClientOptions, wantIDs bool) (*Server, error) {
	s := &Server{Model: o.Frame.Model}
	o.fill()
	if err := s.models(ctx, &o); err != nil {
		return nil, err
	}
	o.Frame.Model, o.Timeout, o.Retry = s.Model, probeTimeout, true
	body := &wire.Body{Text: "Hello", MaxTokens: 1}
	if o.Chat {
		body = &wire.Body{Messages: []wire.Message{{Role: "user", Content: "Hello"}}, MaxTokens: 1}
	}
	wanted := o.Frame
	var first *Record
	for _, without := range []struct{ eos, usage bool }{{}, {eos: true}, {usage: true}, {eos: true, usage: true}} {
		if without.eos && !wanted.IgnoreEOS || without.usage && !(wanted.Usage && wanted.Stream) {
			continue
		}
		o.Frame.IgnoreEOS, o.Frame.Usage = wanted.IgnoreEOS && !without.eos, wanted.Usage && !without.usage
		r, err := try(ctx, o, body)
		if err != nil {
			return nil, err
		}
		if r.Outcome == Finished {
			s.IgnoreEOS, s.Usage = o.Frame.IgnoreEOS, o.Frame.Usage
			first = nil
			break
		}
		if first == nil {
			first = r
		}
		if r.Outcome == CutOff || r.Status != http.StatusBadRequest && r.Status != http.StatusUnprocessableEntity {
			break
		}
	}
	if first != nil {
		return nil, o.explain(ctx, first)
	}
	if wantIDs && !o.Chat {
		low := int32(max(min(300, s.Vocab/2), 1))
		if s.Vocab == 0 {
			low = 300
		}
		r, err := try(ctx, o, &wire.Body{IDs: []int32{low, low + 1}, MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		s.IDs = r.Outcome == Finished
	}
	return s, nil
}

// try asks once, outside of any load.
func try(ctx context.Context, o ClientOptions, body *wire.Body) (*Record, error) {
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	r := &Record{}
	c.ask(ctx, newCaller(&Live{}), body, r, time.Now())
	return r, nil
}

// explain turns the failure of a probe into an error.
func (o *ClientOptions) explain(ctx context.Context, r *Record) error {
	switch {
	case r.Outcome == CutOff:
		return context.Cause(ctx)
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fmt.Errorf("the server at %s asks for a key: %s", o.Base, r.Message)
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("the server at %s does not have the endpoint, or not the model %q: %s", o.Base, o.Frame.Model, r.Message)
	case r.Failure == "connection refused":
		return fmt.Errorf("no server answers at %s", o.Base)
	}
	return fmt.Errorf("the server at %s does not answer a request of one token: %s: %s", o.Base, r.Failure, r.Message)
}

// models reads the lists that servers have. Only a refused key and a silent
// server are errors: not every server has a list.
func (s *Server) models(ctx context.Context, o *ClientOptions) error {
	var list struct {
		Data []struct {
			ID      string
			OwnedBy string   `json:"owned_by"`
			Context int      `json:"max_model_len"` // vLLM, SGLang
			Meta    struct { // llama-server
				Vocab   int `json:"n_vocab"`
				Context int `json:"n_ctx"`
			}
		}
	}
	status, err := o.get(ctx, "v1/models", &list)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server answers at %s", o.Base)
	case err != nil:
		return fmt.Errorf("the server at %s does not answer: %w", o.Base, err)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("the server at %s asks for a key", o.Base)
	case len(list.Data) == 0 && s.Model == "":
		return fmt.Errorf("the server at %s names no model at /v1/models; name one", o.Base)
	}
	for _, m := range list.Data {
		if s.Model == "" || s.Model == m.ID {
			s.Model, s.OwnedBy, s.Vocab, s.Context = m.ID, m.OwnedBy, m.Meta.Vocab, cmp.Or(m.Context, m.Meta.Context)
			break
		}
	}
	s.details(ctx, o)
	return nil
}

// details asks where only some servers tell: Troupe at /server_info, older ones
// of llama.cpp at /props.
func (s *Server) details(ctx context.Context, o *ClientOptions) {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	if s.Vocab == 0 || s.Context == 0 {
		var info struct {
			Model, Memory json.RawMessage // other servers have other things there
		}
		var model struct {
			Vocab   int `json:"vocab_size"`
			Context int `json:"context_length"`
		}
		var memory struct {
			Tokens int `json:"max_total_num_tokens"`
		}
		if status, err := o.get(ctx, "server_info", &info); err == nil && status == http.StatusOK {
			_ = json.Unmarshal(info.Model, &model)
			_ = json.Unmarshal(info.Memory, &memory)
		}
		if memory.Tokens > 0 { // a request must fit into the pool, too
			model.Context = min(model.Context, memory.Tokens)
		}
		s.Vocab, s.Context = cmp.Or(s.Vocab, model.Vocab), cmp.Or(s.Context, model.Context)
	}
	if s.Context == 0 {
		var props struct {
			Defaults struct {
				Context int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		if status, err := o.get(ctx, "props", &props); err == nil && status == http.StatusOK {
			s.Context = props.Defaults.Context
		}
	}
	s.Vocab, s.Context = max(s.Vocab, 0), max(s.Context, 0)
}

// get reads a JSON document; one that is no JSON leaves v empty.
func (o *ClientOptions) get(ctx context.Context, path string, v any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := o.do(ctx, http.MethodGet, o.Base.JoinPath(path))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	_ = json.Unmarshal(body, v)
	return answer.StatusCode, nil
}

// do sends a request without a body.
func (o *ClientOptions) do(ctx context.Context, method string, to *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, to.String(), nil)
	if err != nil {
		return nil, err
	}
	if o.Key != "" {
		request.Header.Set("Authorization", "Bearer "+o.Key)
	}
	return (&http.Client{Transport: o.Transport}).Do(request)
}

// FlushCache empties a server's prefix cache, where it can.
func FlushCache(ctx context.Context, o ClientOptions) error {
	o.fill()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := o.do(ctx, http.MethodPost, o.Base.JoinPath("flush_cache"))
	if err != nil {
		return fmt.Errorf("the cache cannot be flushed: %w", err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server does not flush its cache: HTTP %s: %s", answer.Status, cmp.Or(errorText(body), "no reason given"))
	}
	return nil
}

// Calibrate finds how many tokens the server makes of a word, by its own count
// of two prompts, whose difference has no template and no control tokens.
func Calibrate(ctx context.Context, o ClientOptions, words func(n int) string) (float64, error) {
	const few, many = 16, 80 // a context of 512 tokens has room for them
	o.fill()
	o.Timeout, o.Retry = probeTimeout, true
	var tokens [2]int
	for i, n := range []int{few, many} {
		body := &wire.Body{Text: words(n), MaxTokens: 1}
		if o.Chat {
			body = &wire.Body{Messages: []wire.Message{{Role: "user", Content: words(n)}}, MaxTokens: 1}
		}
		r, err := try(ctx, o, body)
		if err != nil {
			return 0, err
		}
		if r.Outcome != Finished {
			return 0, fmt.Errorf("a prompt of %d words is not answered: %s: %s", n, r.Failure, strings.TrimSpace(r.Message))
		}
		if !r.Counted {
			return 1, nil
		}
		tokens[i] = r.Input
	}
	return max(float64(tokens[1]-tokens[0])/(many-few), 0.1), nil
}
