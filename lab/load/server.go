package load

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/load/wire"
)

// Server is what Learn found out about a server.
type Server struct {
	Model string `json:"model"`
	// OwnedBy is the owner in the list of models; most engines write their own name.
	OwnedBy string `json:"owned_by,omitempty"`
	Vocab   int    `json:"vocab_size,omitempty"`     // token ids of the model, 0 if unknown
	Context int    `json:"context_length,omitempty"` // maximum tokens of prompt and output; 0 if unknown
	// IDs, IgnoreEOS and Usage: the server accepts prompts of token ids, the parameter
	// ignore_eos, and stream_options with include_usage.
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
		text += fmt.Sprintf(", context of %s tokens", units.Grouped(s.Context))
	}
	return text
}

// probeTimeout is for an answer to a probe; the first one may wait for a model to load.
const probeTimeout = 5 * time.Minute

// detailTimeout is the limit for what only some servers answer.
const detailTimeout = 10 * time.Second

// Learn asks a server for its model, unless o.Frame names one, and finds out by requests
// for one token which parameters it accepts. wantIDs: the load can send prompts of token
// ids. The error names a remedy.
func Learn(ctx context.Context, o ClientOptions, wantIDs bool) (*Server, error) {
	s := &Server{Model: o.Frame.Model}
	o.fill()
	if err := s.models(ctx, &o); err != nil {
		return nil, err
	}
	o.Frame.Model, o.Timeout, o.Retry = s.Model, probeTimeout, true
	body := o.prompt("Hello")
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
		low := int32(max(min(300, cmp.Or(s.Vocab, 600)/2), 1))
		r, err := try(ctx, o, &wire.Body{IDs: []int32{low, low + 1}, MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		s.IDs = r.Outcome == Finished
	}
	return s, nil
}

// prompt asks for one token after a text.
func (o *ClientOptions) prompt(text string) *wire.Body {
	if o.Chat {
		return &wire.Body{Messages: []wire.Message{{Role: "user", Content: text}}, MaxTokens: 1}
	}
	return &wire.Body{Text: text, MaxTokens: 1}
}

// try sends one request with options of its own.
func try(ctx context.Context, o ClientOptions, body *wire.Body) (*Record, error) {
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, body, time.Now()), nil
}

// explain turns the failure of a probe into an error.
func (o *ClientOptions) explain(ctx context.Context, r *Record) error {
	switch {
	case r.Outcome == CutOff:
		return context.Cause(ctx)
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fmt.Errorf("the server at %s requires an API key; use --api-key: %s", o.Base, r.Message)
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("the server at %s lacks the endpoint or the model %q; check --endpoint and --model: %s", o.Base, o.Frame.Model, r.Message)
	}
	return fmt.Errorf("a test request for one token failed at %s; check --url, --endpoint and --model: %s: %s", o.Base, r.Failure, r.Message)
}

// models reads the list of models. Only a rejected key and a server that does not
// answer are errors: not every server has a list.
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
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := o.Do(ctx, http.MethodGet, "v1/models", nil)
	if err != nil {
		return err
	}
	_ = json.Unmarshal(answer.Body, &list) // not every server has one
	switch {
	case answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden:
		return o.Check(answer, "/v1/models")
	case len(list.Data) == 0 && s.Model == "":
		return fmt.Errorf("the server at %s lists no model at /v1/models; use --model", o.Base)
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

// details reads what only some have: Troupe's /server_info and llama.cpp's older /props.
func (s *Server) details(ctx context.Context, o *ClientOptions) {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	read := func(path string, v any) {
		if body, err := o.Get(ctx, path, nil); err == nil {
			_ = json.Unmarshal(body, v) // other servers have other types there; the rest is read
		}
	}
	if s.Vocab == 0 || s.Context == 0 {
		var info struct {
			Model struct {
				Vocab   int `json:"vocab_size"`
				Context int `json:"context_length"`
			}
			Memory struct {
				Tokens int `json:"max_total_num_tokens"`
			}
		}
		read("server_info", &info)
		if pool := info.Memory.Tokens; pool > 0 { // a request must also fit into the pool
			info.Model.Context = min(info.Model.Context, pool)
		}
		s.Vocab, s.Context = cmp.Or(s.Vocab, info.Model.Vocab), cmp.Or(s.Context, info.Model.Context)
	}
	if s.Context == 0 {
		var props struct {
			Defaults struct {
				Context int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		read("props", &props)
		s.Context = props.Defaults.Context
	}
	s.Vocab, s.Context = max(s.Vocab, 0), max(s.Context, 0)
}

func FlushCache(ctx context.Context, o ClientOptions) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := o.Do(ctx, http.MethodPost, "flush_cache", nil)
	if err == nil {
		err = o.Check(answer, "/flush_cache")
	}
	if err != nil {
		return fmt.Errorf("the cache was not flushed: %w", err)
	}
	return nil
}

// Calibrate measures the tokens of a word from the server's counts of two prompts:
// their difference contains no template and no control tokens.
func Calibrate(ctx context.Context, o ClientOptions, words func(n int) string) (float64, error) {
	const few, many = 16, 80 // they fit into a context of 512 tokens
	o.fill()
	o.Timeout, o.Retry = probeTimeout, true
	var tokens [2]int
	for i, n := range []int{few, many} {
		r, err := try(ctx, o, o.prompt(words(n)))
		if err != nil {
			return 0, err
		}
		if r.Outcome != Finished {
			return 0, fmt.Errorf("a test request with a prompt of %d words failed: %s: %s", n, r.Failure, strings.TrimSpace(r.Message))
		}
		if !r.Counted {
			return 1, nil
		}
		tokens[i] = r.Input
	}
	return max(float64(tokens[1]-tokens[0])/(many-few), 0.1), nil
}
