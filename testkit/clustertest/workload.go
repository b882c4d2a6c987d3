package clustertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Request is a call with a known answer.
type Request struct {
	Path   string
	Body   map[string]any
	Stream bool
	Native bool // of /generate, whose events hold the answer so far
}

// Lengths of the outputs of a workload, in tokens.
type Lengths struct{ Least, Most int }

// Workload makes seeded requests of all kinds: chat, completions and /generate; text and
// token ids; several choices, stop strings, penalties, log probabilities, salts; streams
// and answers in one piece. Every request has a seed of its own, so it has one answer.
func Workload(seed uint64, count int, l Lengths) []*Request {
	r := rand.New(rand.NewPCG(seed, 0x77))
	list := make([]*Request, count)
	for i := range list {
		list[i] = newRequest(r, i, l)
	}
	return list
}

// stories begin prompts: those with the same beginning share pages of the prefix cache.
var stories = []string{
	"Once upon a time there was a little girl who had a red ball. ",
	"Tom and Lily went to the park to play with their big dog. ",
	"The bird sat on the tree and sang a song. All the animals came to listen. ",
	"One day, a boy named Tim found a small box in the garden. He was very happy. ",
}

var continuations = []string{"She", "He was", "Then the", "One day", "They wanted to", "The dog said", "It was"}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (l Lengths) draw(r *rand.Rand) int { return l.Least + r.IntN(l.Most-l.Least+1) }

func newRequest(r *rand.Rand, i int, l Lengths) *Request {
	q := &Request{Stream: r.IntN(2) == 0}
	text := strings.Repeat(pick(r, stories...), r.IntN(8)) + pick(r, continuations...)
	b := map[string]any{"stream": q.Stream, "seed": i + 1}
	sampling(r, b)
	if r.IntN(4) == 0 {
		b["cache_salt"] = fmt.Sprint("salt-", r.IntN(3))
	}
	switch r.IntN(3) {
	case 0:
		q.Path, b["max_tokens"] = "/v1/chat/completions", l.draw(r)
		b["messages"] = []map[string]string{{"role": "user", "content": text}}
		if r.IntN(2) == 0 {
			b["logprobs"], b["top_logprobs"] = true, r.IntN(4)
		}
		q.usage(b)
	case 1:
		q.Path, b["max_tokens"], b["prompt"] = "/v1/completions", l.draw(r), any(text)
		if r.IntN(3) == 0 {
			b["prompt"] = tokenIDs(r)
		}
		if r.IntN(2) == 0 {
			b["logprobs"], b["echo"] = r.IntN(4), r.IntN(4) == 0
		}
		q.usage(b)
	default:
		q.native(r, b, text, l)
	}
	q.Body = b
	return q
}

// usage asks for the usage at the end of a stream.
func (q *Request) usage(b map[string]any) {
	if q.Stream {
		b["stream_options"] = map[string]any{"include_usage": true}
	}
}

// native makes a call of /generate.
func (q *Request) native(r *rand.Rand, b map[string]any, text string, l Lengths) {
	q.Path, q.Native = "/generate", true
	params := map[string]any{"max_new_tokens": l.draw(r)}
	for k, v := range b {
		if k != "stream" && k != "cache_salt" {
			params[k] = v
			delete(b, k)
		}
	}
	b["sampling_params"] = params
	if r.IntN(2) == 0 {
		b["text"] = text
	} else {
		b["input_ids"] = tokenIDs(r)
	}
	if r.IntN(2) == 0 {
		b["return_logprob"], b["top_logprobs_num"] = true, r.IntN(4)
		if r.IntN(3) == 0 {
			b["logprob_start_len"] = 0
		}
	}
}

// tokenIDs is a prompt of token ids, that every vocabulary has.
func tokenIDs(r *rand.Rand) []int {
	first, ids := r.IntN(3), make([]int, 1+r.IntN(90))
	for i := range ids {
		ids[i] = 100 + (first*37+i*11)%150
	}
	return ids
}

// sampling adds parameters.
func sampling(r *rand.Rand, b map[string]any) {
	b["temperature"] = pick(r, 0, 0.7, 1, 1.3)
	if r.IntN(4) == 0 {
		b["n"] = 2 + r.IntN(2)
	}
	for _, p := range []struct {
		oneIn int
		key   string
		value any
	}{
		{4, "top_p", pick(r, 0.8, 0.95)}, {4, "top_k", pick(r, 5, 50)}, {6, "min_p", pick(r, 0.02, 0.1)},
		{3, "frequency_penalty", pick(r, -0.3, 0.4)}, {3, "presence_penalty", pick(r, -0.2, 0.6)}, {3, "repetition_penalty", pick(r, 0.9, 1.2)},
		{4, "stop", pick[any](r, ".", []string{" the", "\n"}, []string{"She was", " and"})}, {8, "no_stop_trim", true},
		{4, "min_tokens", 3 + r.IntN(4)}, {2, "ignore_eos", true}, {6, "logit_bias", map[string]float64{"120": 1.5, "200": -3}},
		{8, "stop_token_ids", []int{150 + r.IntN(20)}},
	} {
		if r.IntN(p.oneIn) == 0 {
			b[p.key] = p.value
		}
	}
}
