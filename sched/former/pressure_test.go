package former

import (
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// Under lasting pressure, with outputs far longer than a decayed ratio expects,
// retraction costs little and throughput does not collapse: SGLang's users saw
// one retraction end in a tenth of the speed.
func TestPressure(t *testing.T) {
	for _, c := range []struct {
		name     string
		ratio    float64
		cacheOff bool
		inFlight int
		tax      float64 // tokens computed per token needed, at most
	}{
		{"default ratio", 0, false, 1, 1.15},
		{"admits far too many", 0.01, false, 1, 1.3},
		{"without a cache", 0.01, true, 1, 1.3},
		{"default ratio, two steps", 0, false, 2, 1.15},
		{"admits far too many, two steps", 0.01, false, 2, 1.3},
		{"without a cache, two steps", 0.01, true, 2, 1.3},
	} {
		const requests, prompt, output, pageSize, total = 200, 64, 256, 16, 320
		l := newLoop(64)
		l.former = New(Options{PageSize: pageSize, Pages: total, MaxRunning: 64, ContextLength: 1024,
			ChunkedPrefillSize: 256, InitNewTokenRatio: c.ratio, CacheDisabled: c.cacheOff, StepsInFlight: c.inFlight})
		l.alloc = pages.New(pages.Options{Pages: total})
		l.cache = radix.New(radix.Options{PageSize: pageSize, Disabled: c.cacheOff})
		m := &messages.EnqueueRequests{}
		for i := range requests {
			tokens := make([]int32, prompt)
			tokens[0] = int32(i)
			m.Requests = append(m.Requests, &messages.EngineRequest{ID: messages.RequestID(i + 1), Prompt: tokens,
				Params: &messages.SamplingParams{MaxTokens: output, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}})
		}
		l.send(messages.Queue, m)
		computed, steps := 0, 0
		for ; l.former.Load().Running > 0; steps++ {
			computed += l.steps[0].Tokens()
			l.compute()
		}
		tax := float64(computed) / (requests * (prompt + output - 1))
		// As if each request had its greatest size from the start, so that
		// no request is ever retracted.
		careful := requests * output / (total * pageSize / (prompt + output))
		t.Logf("%s: %d steps, %d with full reservations; %.2f tokens computed per token needed", c.name, steps, careful, tax)
		if tax > c.tax {
			t.Errorf("%s: %.2f tokens computed per token needed, want at most %.2f", c.name, tax, c.tax)
		}
		if steps > careful*21/20 {
			t.Errorf("%s: %d steps, full reservations take %d", c.name, steps, careful)
		}
	}
}
