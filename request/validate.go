package request

import (
	"cmp"
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/messages"
)

// validateCall checks everything that does not depend on other calls.
func (t *Table) validateCall(m *messages.SubmitRequests) *messages.CallRefused {
	if len(m.Requests) == 0 {
		return invalid("n", "", "the request has no prompts; send at least one")
	}
	if len(m.Requests) > t.opt.MaxOpenRequests {
		return invalid("n", "", "the request has %d choices (prompts times n), but at most %d may be open (max-open-requests); split it",
			len(m.Requests), t.opt.MaxOpenRequests)
	}
	if most := t.opt.MaxQueuedRequests; most > 0 && len(m.Requests) > most {
		return invalid("n", "", "the request has %d choices (prompts times n), but at most %d may wait (max-queued-requests); split it", len(m.Requests), most)
	}
	for i := range m.Requests {
		s := &m.Requests[i]
		if s.After < -1 || s.After >= i {
			return invalid("", "", "request %d depends on request %d, which does not come before it", i, s.After)
		}
		if bad := cmp.Or(t.validatePrompt(s), t.validateParams(s), t.validatePriority(s), t.validateStops(s.Stop)); bad != nil {
			if len(m.Requests) > 1 {
				bad.Message = fmt.Sprintf("request %d of %d: %s", i+1, len(m.Requests), bad.Message)
			}
			return bad
		}
	}
	return nil
}

func (t *Table) validatePrompt(s *messages.Submission) *messages.CallRefused {
	n := len(s.Prompt)
	if n == 0 {
		return invalid("prompt", "empty_prompt", "the prompt is empty; send at least one token")
	}
	if n+1 > t.opt.ContextLength {
		return invalid("prompt", "context_length_exceeded",
			"the prompt has %d tokens, but the model's context is %d tokens including at least one of output; shorten the prompt to at most %d", n, t.opt.ContextLength, t.opt.ContextLength-1)
	}
	if n+1 > t.opt.PoolTokens {
		return invalid("prompt", "context_length_exceeded",
			"the prompt has %d tokens, but the server's KV pool holds %d tokens including at least one of output; shorten the prompt, or start the server with a larger pool (max-total-tokens, mem-fraction-static)", n, t.opt.PoolTokens)
	}
	for i, id := range s.Prompt {
		if id < 0 || int(id) >= t.opt.Vocab {
			return invalid("prompt", "token_out_of_vocabulary", "token %d at position %d of the prompt is outside the vocabulary (0 to %d)", id, i, t.opt.Vocab-1)
		}
	}
	return nil
}

func (t *Table) validatePriority(s *messages.Submission) *messages.CallRefused {
	if s.Priority != 0 && !t.opt.Priorities {
		return invalid("priority", "unsupported_parameter", `"priority" has no effect on this server; leave it out, or start the server with schedule-policy priority`)
	}
	return nil
}

func (t *Table) validateStops(stops []string) *messages.CallRefused {
	bytes := 0
	for _, s := range stops {
		if s == "" {
			return invalid("stop", "", "a stop string is empty; leave it out")
		}
		bytes += len(s)
	}
	if bytes > t.opt.MaxStopBytes {
		return invalid("stop", "", "the stop strings have %d bytes in total; at most %d are allowed", bytes, t.opt.MaxStopBytes)
	}
	return nil
}

// validateParams checks the ranges that SamplingParams documents.
func (t *Table) validateParams(s *messages.Submission) *messages.CallRefused {
	p := s.Params
	if p == nil {
		return invalid("", "", "the request has no sampling parameters")
	}
	for _, f := range []struct {
		param string
		value float32
		ok    bool
		want  string
	}{
		{"temperature", p.Temperature, p.Temperature >= 0 && p.Temperature <= math.MaxFloat32, "at least 0"},
		{"top_p", p.TopP, p.TopP > 0 && p.TopP <= 1, "above 0 and at most 1"},
		{"min_p", p.MinP, p.MinP >= 0 && p.MinP <= 1, "between 0 and 1"},
		{"frequency_penalty", p.FrequencyPenalty, p.FrequencyPenalty >= -2 && p.FrequencyPenalty <= 2, "between -2 and 2"},
		{"presence_penalty", p.PresencePenalty, p.PresencePenalty >= -2 && p.PresencePenalty <= 2, "between -2 and 2"},
		{"repetition_penalty", p.RepetitionPenalty, p.RepetitionPenalty > 0 && p.RepetitionPenalty <= 2, "above 0 and at most 2"},
	} {
		if !f.ok {
			return invalid(f.param, "", "%s is %v; it must be %s", f.param, f.value, f.want)
		}
	}
	for _, f := range []struct {
		param            string
		value, low, high int
	}{
		{"max_tokens", p.MaxTokens, 1, math.MaxInt},
		{"min_tokens", p.MinTokens, 0, p.MaxTokens},
		{"top_k", int(p.TopK), 0, math.MaxInt32},
		{"top_logprobs", p.TopLogprobs, messages.NoLogprobs, t.opt.MaxLogprobs},
		{"prompt_logprobs", p.PromptLogprobs, messages.NoLogprobs, t.opt.MaxLogprobs},
		{"logprob_start_len", p.PromptLogprobStart, 0, math.MaxInt},
	} {
		switch {
		case f.value < f.low:
			return invalid(f.param, "", "%s is %d; it must be at least %d", f.param, f.value, f.low)
		case f.value > f.high:
			return invalid(f.param, "", "%s is %d; it must be at most %d", f.param, f.value, f.high)
		}
	}
	if p.PromptLogprobStart > len(s.Prompt) {
		return invalid("logprob_start_len", "", "logprob_start_len is %d; it must be at most %d, the number of tokens of the prompt", p.PromptLogprobStart, len(s.Prompt))
	}
	return t.validateTokens(p)
}

func (t *Table) validateTokens(p *messages.SamplingParams) *messages.CallRefused {
	for _, id := range p.StopTokenIDs {
		if id < 0 || int(id) >= t.opt.Vocab {
			return invalid("stop_token_ids", "token_out_of_vocabulary", "stop token %d is outside the vocabulary (0 to %d)", id, t.opt.Vocab-1)
		}
	}
	last := int32(-1)
	for _, b := range p.LogitBias {
		if b.Token < 0 || int(b.Token) >= t.opt.Vocab {
			return invalid("logit_bias", "token_out_of_vocabulary", "logit_bias has token %d, which is outside the vocabulary (0 to %d)", b.Token, t.opt.Vocab-1)
		}
		if !(b.Bias >= -100 && b.Bias <= 100) {
			return invalid("logit_bias", "", "logit_bias of token %d is %v; it must be between -100 and 100", b.Token, b.Bias)
		}
		if b.Token <= last {
			return invalid("logit_bias", "", "logit_bias has token %d twice, or its tokens are not in ascending order", b.Token)
		}
		last = b.Token
	}
	return nil
}

// invalid refuses a call that can never be served.
func invalid(param, code, format string, args ...any) *messages.CallRefused {
	return &messages.CallRefused{Kind: messages.RefusedInvalid, Param: param, Code: code, Message: fmt.Sprintf(format, args...)}
}
