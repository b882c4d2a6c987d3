package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// SGLang's conversations (item 33): 8 clients talk for 6 rounds, each time with
// everything so far and something new. What is cached of a round's prompt is
// known to the token:
//
//	cached = floor((known − 1) / page) × page
//
// known being the tokens of the round before, prompt and answer: the last one of
// an answer has no KV.
func TestConversationsFindTheirPast(t *testing.T) {
	const clients, rounds = 8, 6
	for _, c := range []struct {
		page, in, out int
		cacheOff      bool
	}{
		{64, 289, 367, false}, // SGLang's lengths
		{1, 29, 37, false}, {16, 29, 37, false},
		{16, 1, 15, false}, // an answer that ends just before a page's border
		{16, 0, 17, false}, // nothing new
		{16, 29, 37, true},
	} {
		t.Run(fmt.Sprintf("page %d, %d in, %d out, cache off %t", c.page, c.in, c.out, c.cacheOff), func(t *testing.T) {
			if racedetector.Enabled && c.in+c.out > 100 {
				t.Skip("long conversations show nothing more to the race detector, and take a quarter of a minute")
			}
			whole := c.page + rounds*(c.in+c.out)
			s := testserver.Start(t, testserver.Options{PageSize: c.page, Context: whole + 1, Pages: clients * (whole/c.page + 1), MaxRunning: clients, Log: 1,
				Change: func(spec *engine.Spec) {
					spec.Batch.CacheDisabled, spec.Cache.Disabled = c.cacheOff, c.cacheOff
				}})
			r := rand.New(rand.NewPCG(33, uint64(c.page)))
			history := make([][]int32, clients)
			for i := range history {
				history[i] = append([]int32{int32(i)}, randomIDs(r, c.page-1)...) // each from its first page on
			}
			known := 0
			for round := range rounds {
				cached := 0
				if known > 0 && !c.cacheOff {
					cached = (known - 1) / c.page * c.page
				}
				var wait sync.WaitGroup
				for i := range history {
					history[i] = append(history[i], randomIDs(r, c.in)...)
					wait.Go(func() {
						got := post(t, s, "/generate", object{"input_ids": history[i], "sampling_params": object{"max_new_tokens": c.out, "seed": i}})
						want(t, got, cached, "meta_info", "cached_tokens")
						for _, id := range at(t, got, "output_ids").(list) {
							history[i] = append(history[i], int32(id.(float64)))
						}
					})
				}
				wait.Wait()
				known = len(history[0])
				if t.Failed() {
					t.Fatalf("in round %d", round+1)
				}
				s.WaitIdle(t)
			}
			unharmed(t, s)
		})
	}
}
