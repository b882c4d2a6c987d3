package node

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// received are the requests that an engine was given.
type received struct {
	mu   sync.Mutex
	list []*messages.EngineRequest
}

func (r *received) watch(to messages.Actor, msg any) {
	if m, ok := msg.(*messages.EnqueueRequests); ok && to == messages.Queue {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, m.Requests...)
	}
}

// largestBodies have the largest and smallest values that the API accepts, and longer
// texts than anybody needs.
func largestBodies() map[string][]body {
	long := strings.Repeat("x", 1<<20-2)
	ids := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	bias := func(value float64) map[string]float64 {
		m := map[string]float64{}
		for i := range 4096 {
			m[fmt.Sprint(i)] = value
		}
		return m
	}
	stops := slices.Repeat([]string{strings.Repeat("s", 256)}, 64)
	shared := []body{
		{"cache_salt": long}, {"extra_key": long}, {"cache_salt": long, "extra_key": long}, {"cache_salt": "\x00" + long[:70<<10]}, {"user": long},
		{"priority": math.MaxInt32}, {"priority": math.MinInt32},
	}
	sampling := []body{
		{"temperature": 2, "top_p": 1, "min_p": 1, "frequency_penalty": 2, "presence_penalty": 2, "repetition_penalty": 2},
		{"temperature": 0, "top_p": 0, "min_p": 0, "frequency_penalty": -2, "presence_penalty": -2, "repetition_penalty": 1e-40},
		{"temperature": 1e-40, "top_p": 1e-9}, {"top_k": math.MaxInt}, {"top_k": -1}, {"seed": math.MaxInt64}, {"seed": math.MinInt64},
		{"logit_bias": bias(100), "stop_token_ids": ids(256)}, {"logit_bias": bias(-100), "stop": stops}, {"n": 8},
	}
	text := append(slices.Clone(sampling), body{"max_tokens": math.MaxInt}, body{"max_tokens": 1 << 30, "min_tokens": 1 << 30})
	of := map[string][]body{}
	for path, base := range map[string]body{"/v1/completions": {"prompt": ids(63)}, "/v1/chat/completions": {"messages": []body{{"role": "user", "content": "hi"}}}} {
		own := []body{{"logprobs": 5, "echo": true}, {"logprobs": 0}, {"max_tokens": 0, "echo": true}}
		if path == "/v1/chat/completions" {
			own = []body{{"logprobs": true, "top_logprobs": 20}, {"logprobs": true}}
		}
		for _, b := range slices.Concat(shared, text, own) {
			b = maps.Clone(b)
			maps.Copy(b, base)
			of[path] = append(of[path], b)
		}
	}
	for _, b := range slices.Concat(shared, []body{
		{"return_logprob": true, "top_logprobs_num": 20, "logprob_start_len": 0}, {"return_logprob": true, "logprob_start_len": 63}, {"return_logprob": true},
	}) {
		b = maps.Clone(b)
		b["input_ids"] = ids(63)
		of["/generate"] = append(of["/generate"], b)
	}
	for _, b := range append(slices.Clone(sampling), body{"max_new_tokens": math.MaxInt}, body{"max_new_tokens": 0}, body{"max_new_tokens": 1 << 30, "min_new_tokens": 1 << 30}) {
		of["/generate"] = append(of["/generate"], body{"input_ids": ids(1), "sampling_params": b})
	}
	return of
}

// Whatever the API accepts, an engine accepts of a gateway: otherwise one client could end
// the links of all.
func TestEnginesAcceptWhatTheAPIAccepts(t *testing.T) {
	c := settings(t)
	c.Model, c.Queue.SchedulePolicy = paddedGGUF(t, 5000, 5000), "priority"
	var got received
	n := open(t, c, func(s *engine.Spec) { s.Intercept = got.watch })
	h, limits := n.API().Handler(), n.requestLimits()
	for path, list := range largestBodies() {
		for _, b := range list {
			got.list = nil
			post(t, h, path, b)
			got.mu.Lock()
			if len(got.list) == 0 {
				t.Errorf("%s: the engine was given nothing", path)
			}
			if err := crosses(got.list, &limits); err != nil {
				t.Errorf("%s %.200v: %v", path, b, err)
			}
			got.mu.Unlock()
		}
	}
}

// crosses sends requests as a gateway does, and reports why the engine refuses them.
func crosses(list []*messages.EngineRequest, limits *wire.Limits) error {
	for _, b := range wire.EncodeEnqueue(&messages.EnqueueRequests{Requests: list}, 0) {
		data, err := proto.Marshal(b)
		if err != nil {
			return err
		}
		var there wire.Bulk
		if err := proto.Unmarshal(data, &there); err != nil {
			return err
		}
		if _, err = wire.DecodeDownBulk(&there, 1, 0, limits); err != nil {
			return err
		}
	}
	return nil
}

// An engine takes from a gateway what its own intake would accept, and no more: a larger
// request could end its epoch, with the requests of all gateways.
func TestRequestsAreBoundedByThePool(t *testing.T) {
	c := settings(t)
	c.Model, c.Pool.MaxTotalTokens = paddedGGUF(t, 300, 300), 32
	var got received
	n := open(t, c, func(s *engine.Spec) { s.Intercept = got.watch })
	post(t, n.API().Handler(), "/v1/completions", body{"prompt": make([]int, 20), "max_tokens": 1 << 30})
	limits := n.requestLimits()
	got.mu.Lock()
	r := got.list[0]
	got.mu.Unlock()
	if err := crosses([]*messages.EngineRequest{r}, &limits); err != nil || len(r.Prompt)+r.Params.MaxTokens != 32 {
		t.Errorf("a prompt of %d tokens with an output of %d: %v", len(r.Prompt), r.Params.MaxTokens, err)
	}
	long, output := *r, *r.Params
	long.Prompt = make([]int32, 33)
	output.MaxTokens++
	for want, one := range map[string]messages.EngineRequest{"prompt of 33 tokens": long, "of at most 13": {ID: 1, Prompt: r.Prompt, Params: &output}} {
		if err := crosses([]*messages.EngineRequest{&one}, &limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
