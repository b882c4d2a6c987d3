package httpapi_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

const onceUpon = "Once upon a time"

func TestCompletionPrompts(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	ids, other := encode(onceUpon), encode("The cat")
	for name, c := range map[string]struct {
		prompt any
		want   [][]int32
	}{
		"text":           {onceUpon, [][]int32{ids}},
		"texts":          {list{onceUpon, "The cat"}, [][]int32{ids, other}},
		"ids":            {ids, [][]int32{ids}},
		"lists of ids":   {list{ids, other}, [][]int32{ids, other}},
		"text and ids":   {list{onceUpon, other}, [][]int32{ids, other}},
		"one text":       {list{onceUpon}, [][]int32{ids}},
		"special tokens": {"<|user|>hi<|end|>", [][]int32{encode("<|user|>hi<|end|>")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(t, s, "/v1/completions", object{"prompt": c.prompt, "max_tokens": 10, "seed": 1})
			if n := len(at(t, got, "choices").(list)); n != len(c.want) {
				t.Fatalf("%d choices, want %d", n, len(c.want))
			}
			total := 0
			for i, prompt := range c.want {
				text, _ := s.Expected(prompt, params(s, 10, 1))
				want(t, got, text, "choices", i, "text")
				want(t, got, i, "choices", i, "index")
				total += len(prompt)
			}
			want(t, got, total, "usage", "prompt_tokens")
			want(t, got, 10*len(c.want), "usage", "completion_tokens")
			want(t, got, "text_completion", "object")
		})
	}
}

// Choices are numbered prompt by prompt.
func TestCompletionChoices(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"prompt": list{onceUpon, "The cat"}, "n": 2, "max_tokens": 10, "seed": 4, "echo": true}
	got := post(t, s, "/v1/completions", body)
	streamed := make([]string, 4)
	finished := 0
	all := chunks(t, s, "/v1/completions", with(body, object{"stream": true, "stream_options": object{"include_usage": true}}))
	for _, chunk := range all[:len(all)-1] {
		streamed[int(at(t, chunk, "choices", 0, "index").(float64))] += at(t, chunk, "choices", 0, "text").(string)
		if at(t, chunk, "choices", 0, "finish_reason") != nil {
			finished++
		}
	}
	for i, prompt := range []string{onceUpon, onceUpon, "The cat", "The cat"} {
		p := params(s, 10, 4)
		p.Choice = uint32(i % 2)
		text, _ := s.Expected(encode(prompt), p)
		want(t, got, prompt+text, "choices", i, "text")
		if streamed[i] != prompt+text {
			t.Errorf("choice %d streams %q, want %q", i, streamed[i], prompt+text)
		}
	}
	if finished != 4 {
		t.Errorf("%d chunks with a reason to finish, want 4", finished)
	}
	promptTokens := len(encode(onceUpon)) + len(encode("The cat"))
	want(t, got, promptTokens, "usage", "prompt_tokens")
	want(t, all[len(all)-1], list{}, "choices")
	want(t, all[len(all)-1], promptTokens, "usage", "prompt_tokens")
	want(t, all[len(all)-1], 40, "usage", "completion_tokens")
	s.WaitIdle(t)
}

func TestEchoOfIDs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	got := post(t, s, "/v1/completions", object{"prompt": encode(onceUpon), "max_tokens": 3, "seed": 1, "echo": true})
	if text := at(t, got, "choices", 0, "text").(string); !strings.HasPrefix(text, onceUpon) {
		t.Errorf("%q does not begin with the prompt", text)
	}
}

// max_tokens 0 computes the prompt alone, for its log probabilities.
func TestNoOutputTokens(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	ids := encode(onceUpon)
	body := object{"prompt": onceUpon, "max_tokens": 0, "echo": true, "logprobs": 1}
	got := post(t, s, "/v1/completions", body)
	want(t, got, onceUpon, "choices", 0, "text")
	want(t, got, "length", "choices", 0, "finish_reason")
	want(t, got, 0, "usage", "completion_tokens")
	if n := len(at(t, got, "choices", 0, "logprobs", "tokens").(list)); n != len(ids) {
		t.Errorf("log probabilities of %d tokens, want %d", n, len(ids))
	}
	stream := chunks(t, s, "/v1/completions", with(body, object{"stream": true}))
	want(t, stream[len(stream)-1], onceUpon, "choices", 0, "text")
	native := post(t, s, "/generate", object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 0}})
	want(t, native, "", "text")
	want(t, native, list{}, "output_ids")
	want(t, native, object{"type": "length", "length": 0}, "meta_info", "finish_reason")
}

// The lists are parallel, offsets are characters into the text, and the values
// are the model's.
func TestCompletionLogprobs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: .03})
	tok := s.Model.Tokenizer
	for seed := range uint64(2) {
		for _, echo := range []bool{false, true} {
			body := object{"prompt": onceUpon, "max_tokens": 30, "seed": seed, "logprobs": 2, "echo": echo, "n": 2}
			got := post(t, s, "/v1/completions", body)
			joined := [2]object{}
			for _, chunk := range chunks(t, s, "/v1/completions", with(body, object{"stream": true})) {
				joinLogprobs(t, &joined[int(at(t, chunk, "choices", 0, "index").(float64))], at(t, chunk, "choices", 0).(object))
			}
			for choice := range 2 {
				p := params(s, 30, seed)
				p.Choice = uint32(choice)
				_, out := s.Expected(encode(onceUpon), p)
				sequence := append(append([]int32{}, encode(onceUpon)...), out...)
				first := len(encode(onceUpon))
				if echo {
					first = 0
				}
				all := at(t, got, "choices", choice, "logprobs").(object)
				text := []rune(at(t, got, "choices", choice, "text").(string))
				n := len(sequence) - first
				for _, key := range []string{"tokens", "token_logprobs", "top_logprobs", "text_offset"} {
					if l := all[key].(list); len(l) != n {
						t.Fatalf("%s has %d entries, want %d", key, len(l), n)
					}
					want(t, joined[choice], all[key], key)
				}
				want(t, joined[choice], string(text), "text")
				last := 0.0
				for i := range n {
					id := sequence[first+i]
					name := string(tok.TokenBytes(id))
					if utf8.ValidString(name) {
						want(t, all, name, "tokens", i)
					}
					offset := at(t, all, "text_offset", i).(float64)
					if offset < last || int(offset) > len(text) {
						t.Fatalf("offsets are not in order within the text: %v", all["text_offset"])
					}
					last = offset
					if first+i == 0 {
						want(t, all, 0, "token_logprobs", i)
						continue
					}
					lp := fakemodel.ExpectedLogprobs(s.FakeModel, sequence[:first+i+1], 2)
					want(t, all, lp.Chosen.Logprob, "token_logprobs", i)
					top := at(t, all, "top_logprobs", i).(object)
					if len(top) < 1 || len(top) > 3 {
						t.Errorf("%d likeliest tokens, want at most 2 and the chosen one: %v", len(top), top)
					}
				}
			}
		}
	}
}

// joinLogprobs appends a chunk's lists to the earlier ones.
func joinLogprobs(t *testing.T, joined *object, choice object) {
	if *joined == nil {
		*joined = object{"text": "", "tokens": list{}, "token_logprobs": list{}, "top_logprobs": list{}, "text_offset": list{}}
	}
	(*joined)["text"] = (*joined)["text"].(string) + choice["text"].(string)
	for key, value := range at(t, choice, "logprobs").(object) {
		(*joined)[key] = append((*joined)[key].(list), value.(list)...)
	}
}
