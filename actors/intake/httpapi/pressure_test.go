package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// metric reads one of the server's metrics by its name without the prefix.
func metric(t testing.TB, s *testserver.Server, name string, headers ...string) float64 {
	t.Helper()
	a := send(t, s, "GET", "/metrics", nil, headers...)
	for line := range strings.Lines(string(a.body)) {
		if rest, ok := strings.CutPrefix(line, "troupe_"+name+"{"); ok {
			fields := strings.Fields(rest)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// unharmed waits until nothing is open and checks that every page has its owner,
// that no audit failed and that the engine never recovered.
func unharmed(t testing.TB, s *testserver.Server, headers ...string) {
	t.Helper()
	s.WaitIdle(t)
	http.DefaultClient.CloseIdleConnections() // one that was dialled in vain holds up the server's end
	for name, value := range map[string]float64{"num_failed_audits_total": 0, "num_epochs_total": 1, "num_failed_requests_total": 0} {
		if got := metric(t, s, name, headers...); got != value {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
}

// randomIDs is a prompt that no other request has.
func randomIDs(r *rand.Rand, n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(100 + r.IntN(1000))
	}
	return ids
}

// SGLang's forced retraction (item 25): every 3 steps, chunks of 128 tokens,
// pages of 1 and 16, with and without a cache, 64 questions by 32 clients. The
// answers are those of an undisturbed engine and the audit after every step is
// silent.
func TestForcedRetractionChangesNoAnswer(t *testing.T) {
	for _, page := range []int{1, 16} {
		for _, cacheOff := range []bool{false, true} {
			t.Run(fmt.Sprintf("page %d, cache off %t", page, cacheOff), func(t *testing.T) {
				s := testserver.Start(t, testserver.Options{PageSize: page, Pages: 2560 / page, EOSChance: .02, Log: 1, Change: func(spec *engine.Spec) {
					spec.Batch.ChunkedPrefillSize, spec.Batch.RetractEvery = 128, 3
					spec.Batch.CacheDisabled, spec.Cache.Disabled = cacheOff, cacheOff
				}})
				r := rand.New(rand.NewPCG(25, uint64(page)))
				stem := randomIDs(r, 90) // the examples that all questions begin with
				var wait sync.WaitGroup
				next := make(chan int, 64)
				prompts := make([][]int32, 64)
				for i := range prompts {
					prompts[i] = append(append([]int32(nil), stem...), randomIDs(r, 5+r.IntN(80))...)
					next <- i
				}
				close(next)
				for range 32 {
					wait.Go(func() {
						for i := range next {
							got := post(t, s, "/generate", object{"input_ids": prompts[i], "sampling_params": object{"max_new_tokens": 30, "seed": i}})
							_, ids := s.Expected(prompts[i], params(s, 30, uint64(i)))
							want(t, got, ids, "output_ids")
						}
					})
				}
				wait.Wait()
				unharmed(t, s)
				if metric(t, s, "num_retracted_requests_total") == 0 {
					t.Error("no request was retracted")
				}
			})
		}
	}
}

// SGLang's 256 prompts of 1234 tokens with max_new_tokens 90000 and ignore_eos
// (item 25), a tenth in size, in a pool that holds four of them: all are
// answered with status 200 and as many tokens as the context has room for.
func TestEndlessAnswersAreAllServed(t *testing.T) {
	const context, prompt, clients = 256, 123, 48
	s := testserver.Start(t, testserver.Options{Context: context, PageSize: 16, Pages: 4 * context / 16, MaxRunning: 16, EOSChance: .1, Log: 1})
	r := rand.New(rand.NewPCG(25, 256))
	var wait sync.WaitGroup
	for i := range clients {
		ids := randomIDs(r, prompt)
		wait.Go(func() {
			sampling := object{"max_new_tokens": 9000, "ignore_eos": true, "seed": i}
			a := send(t, s, "POST", "/generate", object{"input_ids": ids, "sampling_params": sampling})
			if a.status != http.StatusOK {
				t.Errorf("request %d: %d %s", i, a.status, a.body)
				return
			}
			got := a.object(t)
			want(t, got, "length", "meta_info", "finish_reason", "type")
			p := params(s, context-prompt, uint64(i))
			p.IgnoreEOS = true
			_, expected := s.Expected(ids, p)
			want(t, got, expected, "output_ids")
		})
	}
	wait.Wait()
	unharmed(t, s)
	if metric(t, s, "num_retracted_requests_total") == 0 {
		t.Error("no request was retracted")
	}
	post(t, s, "/generate", object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 2}})
}

// SGLang's abort of everything under retraction (item 28): of 32 requests some
// run, some wait retracted with what they have, some never ran. All end by the
// abort, with exactly the tokens that they had, each with its log probability.
func TestAbortOfRetractedRequests(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 256, PageSize: 4, Pages: 256, MaxRunning: 16, Log: 1, Change: func(spec *engine.Spec) {
		spec.Batch.RetractEvery, spec.Batch.InitNewTokenRatio = 3, .05
	}})
	r := rand.New(rand.NewPCG(28, 28))
	type result struct {
		prompt []int32
		answer answer
	}
	results := make(chan result, 32)
	s.Hold()
	for i := range 32 {
		ids := randomIDs(r, 20+i)
		go func() {
			results <- result{ids, send(t, s, "POST", "/generate", object{"input_ids": ids, "return_logprob": true, "sampling_params": object{"max_new_tokens": 200, "seed": 7, "ignore_eos": true}})}
		}()
	}
	for metric(t, s, "num_open_reqs") < 32 { // until all have come
		s.Audit(t)
	}
	s.WaitStep(t, 1)
	for i := 0; i < 20 || metric(t, s, "num_retracted_reqs") == 0; i++ {
		s.Step(t)
		s.Audit(t) // the metrics follow the step
	}
	running, retracted := int(metric(t, s, "num_running_reqs")), int(metric(t, s, "num_retracted_reqs"))
	post(t, s, "/abort_request", object{"abort_all": true})
	partial, none := 0, 0
	for range 32 {
		got := <-results
		if got.answer.status != http.StatusOK {
			t.Fatalf("%d: %s", got.answer.status, got.answer.body)
		}
		o := got.answer.object(t)
		want(t, o, "abort", "meta_info", "finish_reason", "type")
		output := o["output_ids"].(list)
		logprobs, _ := at(t, o, "meta_info", "output_token_logprobs").(list)
		if n := at(t, o, "meta_info", "completion_tokens"); n != float64(len(output)) || len(logprobs) != len(output) {
			t.Errorf("completion_tokens is %v with %d tokens and %d log probabilities", n, len(output), len(logprobs))
		}
		p := params(s, 200, 7)
		p.IgnoreEOS = true
		_, expected := s.Expected(got.prompt, p)
		want(t, o, expected[:len(output)], "output_ids")
		if len(output) > 0 {
			partial++
		} else {
			none++
		}
	}
	s.Resume()
	unharmed(t, s)
	if partial <= running || none == 0 {
		t.Errorf("%d ran, %d waited retracted; %d had output and %d none", running, retracted, partial, none)
	}
	if n := metric(t, s, "num_aborted_requests_total"); n != 32 {
		t.Errorf("%v aborts are counted, want 32", n)
	}
}

// An audit that fails (item 32) does not end the server as in SGLang: the engine
// restarts with a whole pool, and clients see no error.
func TestAFailedAuditIsNoticedByNoClient(t *testing.T) {
	var audits atomic.Int32
	s := testserver.Start(t, testserver.Options{Change: func(spec *engine.Spec) {
		spec.Intercept = func(to messages.Actor, msg any) {
			if m, ok := msg.(*messages.AuditSlots); ok && to == messages.Allocator && audits.Add(1) == 20 {
				m.Count.Leased++ // one page has two owners
			}
		}
	}})
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			got := post(t, s, "/generate", object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 100, "seed": i}})
			_, ids := s.Expected(encode(onceUpon), params(s, 100, uint64(i)))
			want(t, got, ids, "output_ids")
		})
	}
	wait.Wait()
	s.WaitIdle(t)
	if failed, epochs := metric(t, s, "num_failed_audits_total"), metric(t, s, "num_epochs_total"); failed != 1 || epochs != 2 {
		t.Errorf("%v failed audits and %v epochs, want 1 and 2", failed, epochs)
	}
	if !strings.Contains(s.Logs(), "audit of KV pages failed") {
		t.Error("the log does not say what was wrong")
	}
}
