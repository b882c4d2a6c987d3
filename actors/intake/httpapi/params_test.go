package httpapi_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Every parameter reaches the device unchanged: the fake model's tokens depend on
// each of them, so equal text means equal parameters.
func TestParametersReachTheDevice(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: .05})
	const prompt = "Once upon a time"
	eos := s.Model.EOS[0]
	for name, c := range map[string]struct {
		body   object
		native object // under sampling_params of /generate; nil: as body
		change func(*messages.SamplingParams)
	}{
		"temperature":        {object{"temperature": 0.5}, nil, func(p *messages.SamplingParams) { p.Temperature = .5 }},
		"greedy":             {object{"temperature": 0}, nil, func(p *messages.SamplingParams) { p.Temperature = 0 }},
		"top_p":              {object{"top_p": 0.9}, nil, func(p *messages.SamplingParams) { p.TopP = .9 }},
		"top_p 0":            {object{"top_p": 0}, nil, func(p *messages.SamplingParams) { p.TopP, p.TopK = 1, 1 }},
		"top_k":              {object{"top_k": 7}, nil, func(p *messages.SamplingParams) { p.TopK = 7 }},
		"top_k at its most":  {object{"top_k": int64(math.MaxInt64)}, nil, func(p *messages.SamplingParams) { p.TopK = 1 << 30 }},
		"top_k -1":           {object{"top_k": -1}, nil, func(p *messages.SamplingParams) { p.TopK = 0 }},
		"min_p":              {object{"min_p": 0.1}, nil, func(p *messages.SamplingParams) { p.MinP = .1 }},
		"frequency_penalty":  {object{"frequency_penalty": 1.5}, nil, func(p *messages.SamplingParams) { p.FrequencyPenalty = 1.5 }},
		"presence_penalty":   {object{"presence_penalty": -1}, nil, func(p *messages.SamplingParams) { p.PresencePenalty = -1 }},
		"repetition_penalty": {object{"repetition_penalty": 1.25}, nil, func(p *messages.SamplingParams) { p.RepetitionPenalty = 1.25 }},
		"logit_bias": {object{"logit_bias": object{"7": -3, "12": 5.5}}, nil, func(p *messages.SamplingParams) {
			p.LogitBias = []messages.TokenBias{{Token: 7, Bias: -3}, {Token: 12, Bias: 5.5}}
		}},
		"seed":          {object{"seed": -2}, object{"sampling_seed": -2}, func(p *messages.SamplingParams) { p.Seed = 1<<64 - 2 }},
		"min_tokens":    {object{"min_tokens": 30}, object{"min_new_tokens": 30}, func(p *messages.SamplingParams) { p.MinTokens = 30 }},
		"ignore_eos":    {object{"ignore_eos": true}, nil, func(p *messages.SamplingParams) { p.IgnoreEOS = true }},
		"stop_token_id": {object{"stop_token_ids": list{eos, 3}}, nil, func(p *messages.SamplingParams) { p.StopTokenIDs = []int32{eos, 3} }},
		"nulls": {object{"temperature": nil, "top_p": nil, "n": nil, "stop": nil, "logit_bias": nil}, object{"temperature": nil, "stop_token_ids": nil},
			func(*messages.SamplingParams) {}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				p := params(s, 40, seed)
				c.change(p)
				text, ids := s.Expected(encode(prompt), p)
				got := post(t, s, "/v1/completions", merge(object{"prompt": prompt, "max_tokens": 40, "seed": seed}, c.body))
				want(t, got, text, "choices", 0, "text")
				want(t, got, len(ids), "usage", "completion_tokens")

				native := c.native
				if native == nil {
					native = c.body
				}
				got = post(t, s, "/generate", object{"text": prompt, "sampling_params": merge(object{"max_new_tokens": 40, "sampling_seed": seed}, native)})
				want(t, got, text, "text")
				want(t, got, ids, "output_ids")

				p = params(s, 40, seed)
				c.change(p)
				text, _ = s.Expected(helloIDs(), p)
				got = post(t, s, "/v1/chat/completions", merge(object{"messages": hello, "max_completion_tokens": 40, "seed": seed}, c.body))
				want(t, got, text, "choices", 0, "message", "content")
			}
		})
	}
}

// merge is with, but null stays null.
func merge(body, changes object) object {
	o := with(body, nil)
	for k, v := range changes {
		o[k] = v
	}
	return o
}

// A request without a seed draws one; the draws differ. -1 means the same, as in llama.cpp
// and vLLM.
func TestRequestsWithoutSeedDiffer(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for path, base := range map[string]object{
		"/v1/completions":      {"prompt": "Once", "max_tokens": 20},
		"/v1/chat/completions": {"messages": hello, "max_tokens": 20},
		"/generate":            {"text": "Once"},
	} {
		for _, seeds := range []object{{}, {"seed": -1}, {"random_seed": -1}, {"sampling_seed": -1}, {"seed": -1, "sampling_seed": -1}} {
			body := merge(base, seeds)
			if path == "/generate" {
				body = merge(base, object{"sampling_params": merge(seeds, object{"max_new_tokens": 20})})
			}
			seen := map[string]bool{}
			for range 5 {
				seen[textOf(t, send(t, s, "POST", path, body))] = true
			}
			if len(seen) != 5 {
				t.Errorf("%s: 5 requests with %v gave %d texts", path, seeds, len(seen))
			}
		}
	}
	// Beside a seed it changes nothing.
	text := func(o object) string {
		return textOf(t, send(t, s, "POST", "/v1/completions", merge(object{"prompt": "Once", "max_tokens": 20}, o)))
	}
	if got, want := text(object{"seed": -1, "random_seed": 7}), text(object{"seed": 7}); got != want {
		t.Errorf("a seed of 7 beside -1: %q, want %q", got, want)
	}
}

func TestMissingMaxTokensMeansAsManyAsFit(t *testing.T) {
	for name, opt := range map[string]testserver.Options{
		"context": {Context: 100},
		"pool":    {Context: 1000, Pages: 20, PageSize: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := testserver.Start(t, opt)
			got := post(t, s, "/v1/completions", object{"prompt": "Once upon a time"})
			want(t, got, "length", "choices", 0, "finish_reason")
			want(t, got, s.Context, "usage", "total_tokens")
			more := post(t, s, "/v1/completions", object{"prompt": "Once upon a time", "max_tokens": 1 << 40})
			want(t, more, s.Context, "usage", "total_tokens")
		})
	}
}

// Stop strings end the text before their first place, also across tokens, and
// are never shown in a stream.
func TestStopStrings(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	const prompt = "Once upon a time"
	full, _ := s.Expected(encode(prompt), params(s, 40, 3))
	runes := []rune(full)
	for i := 5; i+4 < len(runes); i += 3 {
		stop := string(runes[i : i+4])
		if strings.ContainsRune(stop, '\uFFFD') { // a character that is not whole
			continue
		}
		first := full[:strings.Index(full, stop)]
		body := object{"prompt": prompt, "max_tokens": 40, "seed": 3, "stop": list{"\x00never", stop}}
		got := post(t, s, "/v1/completions", body)
		want(t, got, first, "choices", 0, "text")
		want(t, got, "stop", "choices", 0, "finish_reason")
		var streamed string
		for _, chunk := range chunks(t, s, "/v1/completions", with(body, object{"stream": true, "stop": stop})) {
			streamed += at(t, chunk, "choices", 0, "text").(string)
			if !strings.HasPrefix(first, streamed) {
				t.Fatalf("the stream showed %q of the stop string %q after %q", streamed, stop, first)
			}
		}
		if streamed != first {
			t.Errorf("the stream says %q, want %q", streamed, first)
		}
		got = post(t, s, "/generate", object{"text": prompt, "sampling_params": object{"max_new_tokens": 40, "seed": 3, "stop": stop}})
		want(t, got, object{"type": "stop", "matched": stop}, "meta_info", "finish_reason")
		kept := post(t, s, "/v1/completions", with(body, object{"no_stop_trim": true}))
		want(t, kept, first+stop, "choices", 0, "text")
	}
	s.WaitIdle(t)
}

func TestStopTokens(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	_, full := s.Expected(encode("Once"), params(s, 20, 3))
	stop := full[9]
	cut := slices.Index(full, stop)
	p := params(s, 20, 3)
	p.StopTokenIDs = []int32{stop}
	text, _ := s.Expected(encode("Once"), p)
	got := post(t, s, "/generate", object{"text": "Once", "sampling_params": object{"max_new_tokens": 20, "seed": 3, "stop_token_ids": list{stop}}})
	want(t, got, text, "text")
	want(t, got, object{"type": "stop", "matched": stop}, "meta_info", "finish_reason")
	want(t, got, full[:cut+1], "output_ids")
}

func TestSkipSpecialTokens(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: .05})
	found := false
	for seed := range uint64(40) {
		_, ids := s.Expected(encode("Once"), params(s, 30, seed))
		if !slices.ContainsFunc(ids[:len(ids)-1], s.Model.Tokenizer.IsSpecial) {
			continue
		}
		found = true
		got := post(t, s, "/v1/completions", object{"prompt": "Once", "max_tokens": 30, "seed": seed, "skip_special_tokens": false})
		if text := at(t, got, "choices", 0, "text").(string); !strings.Contains(text, "<|") {
			t.Errorf("special tokens are not shown in %q", text)
		}
	}
	if !found {
		t.Fatal("no seed returns a special token; the test shows nothing")
	}
}

// Namespaces keep prefixes apart.
func TestCacheSalt(t *testing.T) {
	s := testserver.Start(t, testserver.Options{PageSize: 1})
	body := object{"prompt": "Once upon a time", "max_tokens": 2, "seed": 1, "cache_salt": "a"}
	n := len(encode("Once upon a time"))
	cached := func(o object) int {
		return int(at(t, post(t, s, "/v1/completions", o), "usage", "prompt_tokens_details", "cached_tokens").(float64))
	}
	if first, again, other := cached(body), cached(body), cached(with(body, object{"cache_salt": "b"})); first != 0 || again != n-1 || other != 0 {
		t.Errorf("cached %d, %d, %d of %d tokens", first, again, other, n)
	}
}

// The unit test of the sampling parameters covers the model's defaults. This one
// covers values that users of the API send.
func TestHarmlessParametersAreTaken(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	plain := post(t, s, "/v1/chat/completions", object{"messages": hello, "max_tokens": 5, "seed": 1})
	got := post(t, s, "/v1/chat/completions", object{"messages": hello, "max_tokens": 5, "seed": 1, "user": "u", "metadata": object{"a": "b"},
		"store": false, "service_tier": "auto", "response_format": object{"type": "text"}, "modalities": list{"text"}, "tools": list{}, "tool_choice": "none",
		"parallel_tool_calls": true, "stream": false, "prompt_cache_key": "k", "safety_identifier": "x", "logprobs": false})
	want(t, got, at(t, plain, "choices"), "choices")
}
