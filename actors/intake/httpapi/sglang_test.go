package httpapi_test

import (
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

func TestGenerate(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	text, ids := s.Expected(encode(onceUpon), params(s, 12, 3))
	sampling := object{"max_new_tokens": 12, "sampling_seed": 3}
	for name, source := range map[string]object{"text": {"text": onceUpon}, "input_ids": {"input_ids": encode(onceUpon)}} {
		got := post(t, s, "/generate", merge(source, object{"sampling_params": sampling, "rid": "mine-" + name}))
		want(t, got, text, "text")
		want(t, got, ids, "output_ids")
		want(t, got, "mine-"+name, "meta_info", "id")
		want(t, got, object{"type": "length", "length": 12}, "meta_info", "finish_reason")
		want(t, got, len(encode(onceUpon)), "meta_info", "prompt_tokens")
		want(t, got, 12, "meta_info", "completion_tokens")
		if _, there := at(t, got, "meta_info").(object)["output_token_logprobs"]; there {
			t.Error("log probabilities were not requested")
		}
	}
}

// The answer to a list of prompts, or to n > 1, is a list.
func TestGenerateLists(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for name, body := range map[string]object{
		"texts": {"text": list{onceUpon, "The cat"}, "sampling_params": object{"max_new_tokens": 5, "seed": 1}},
		"ids":   {"input_ids": list{encode(onceUpon), encode("The cat")}, "sampling_params": object{"max_new_tokens": 5, "seed": 1}},
		"n":     {"text": onceUpon, "sampling_params": object{"max_new_tokens": 5, "seed": 1, "n": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			a := send(t, s, "POST", "/generate", body)
			got := decodeList(t, a)
			if len(got) != 2 {
				t.Fatalf("%d answers, want 2: %s", len(got), a.body)
			}
			second := params(s, 5, 1)
			prompt := "The cat"
			if name == "n" {
				second.Choice, prompt = 1, onceUpon
			}
			text, _ := s.Expected(encode(prompt), second)
			want(t, got, text, 1, "text")
			var streamed [2]any
			for _, event := range chunks(t, s, "/generate", with(body, object{"stream": true})) {
				streamed[int(at(t, event, "index").(float64))] = event["text"]
			}
			want(t, got, streamed[0], 0, "text")
			want(t, got, streamed[1], 1, "text")
		})
	}
}

// A stream's events are cumulative and its last one is the answer.
func TestGenerateStream(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 20, "seed": 8}, "return_logprob": true, "top_logprobs_num": 2,
		"logprob_start_len": 0, "return_text_in_logprobs": true, "rid": "r"}
	whole := post(t, s, "/generate", body)
	all := chunks(t, s, "/generate", with(body, object{"stream": true}))
	last := ""
	for i, event := range all {
		text := event["text"].(string)
		if len(text) < len(last) || text[:len(last)] != last {
			t.Errorf("event %d says %q after %q", i, text, last)
		}
		last = text
		if finished := at(t, event, "meta_info", "finish_reason") != nil; finished != (i == len(all)-1) {
			t.Errorf("event %d of %d: finished %v", i, len(all), finished)
		}
	}
	end := all[len(all)-1]
	for _, o := range []object{whole, end} {
		meta := o["meta_info"].(object)
		delete(meta, "e2e_latency")
		delete(meta, "cached_tokens")
	}
	want(t, end, whole)
}

func TestGenerateLogprobs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	prompt := encode(onceUpon)
	_, out := s.Expected(prompt, params(s, 6, 1))
	sequence := append(append([]int32{}, prompt...), out...)
	for _, start := range []int{-1, 0, 2} {
		got := post(t, s, "/generate", object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 6, "seed": 1}, "return_logprob": true,
			"top_logprobs_num": 2, "logprob_start_len": start})
		meta := got["meta_info"].(object)
		for i := range out {
			lp := fakemodel.ExpectedLogprobs(s.FakeModel, sequence[:len(prompt)+i+1], 2)
			want(t, meta, list{lp.Chosen.Logprob, out[i], nil}, "output_token_logprobs", i)
			want(t, meta, list{lp.Top[0].Logprob, lp.Top[0].Token, nil}, "output_top_logprobs", i, 0)
		}
		input, _ := meta["input_token_logprobs"].(list)
		expected := 0
		if start >= 0 {
			expected = len(prompt) - start
		}
		if len(input) != expected {
			t.Fatalf("from %d on: log probabilities of %d prompt tokens, want %d", start, len(input), expected)
		}
		for i := range input {
			at := start + i
			if at == 0 {
				want(t, input, list{nil, prompt[0], nil}, 0)
				continue
			}
			lp := fakemodel.ExpectedLogprobs(s.FakeModel, prompt[:at+1], 2)
			want(t, input, list{lp.Chosen.Logprob, prompt[at], nil}, i)
		}
	}
	if meta := post(t, s, "/generate", object{"text": onceUpon, "return_logprob": true, "sampling_params": object{"max_new_tokens": 1}})["meta_info"].(object); meta["output_top_logprobs"] != nil {
		t.Errorf("no likeliest tokens were requested: %v", meta)
	}
}
