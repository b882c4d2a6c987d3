package simtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/internal/fakemodel"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched"
)

// Config is one simulated run. Equal configs give equal runs.
type Config struct {
	Seed     uint64
	Requests int // that arrive in all; example 12

	PageSize      int
	Pages         int // usable; at least 1
	MaxRunning    int
	Chunk         int // 0: unlimited
	ContextLength int
	CacheDisabled bool
	RetractEvery  int // steps; 0: only when memory runs out

	// Crashes and DeviceErrors are probabilities, per message and per step.
	Crashes      float64
	DeviceErrors float64
	// Cancels is the share of requests that are cancelled at some time.
	Cancels float64
}

// String names the run in failures.
func (c Config) String() string {
	return fmt.Sprintf("TROUPE_SEED=%d page=%d pages=%d rows=%d chunk=%d context=%d nocache=%t retract=%d crashes=%g errors=%g cancels=%g requests=%d",
		c.Seed, c.PageSize, c.Pages, c.MaxRunning, c.Chunk, c.ContextLength, c.CacheDisabled, c.RetractEvery, c.Crashes, c.DeviceErrors, c.Cancels, c.Requests)
}

// capacity is what bounds prompt and output of one request together, in tokens.
func (c *Config) capacity() int { return min(c.ContextLength, c.PageSize*c.Pages) }

// Random draws a config: the matrix of what must not change the output, with
// pools that are just large enough, and larger ones.
func Random(seed uint64) Config {
	r := rand.New(rand.NewPCG(seed, 1))
	c := Config{
		Seed: seed, Requests: 1 + r.IntN(16),
		PageSize:      pick(r, 1, 4, 16),
		MaxRunning:    pick(r, 1, 4, 64),
		Chunk:         pick(r, 7, 64, 0),
		ContextLength: 24 + r.IntN(60),
		CacheDisabled: r.IntN(4) == 0,
		RetractEvery:  pick(r, 0, 0, 3),
		Crashes:       pick(r, 0, 0, 0.002, 0.01),
		DeviceErrors:  pick(r, 0, 0, 0.02),
		Cancels:       pick(r, 0, 0.2, 0.6),
	}
	c.Pages = memory.PagesFor(c.ContextLength, c.PageSize)*pick(r, 1, 1, 2, 8) + r.IntN(3)
	return c
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

const vocab = 48

func (c *Config) model() fakemodel.Options {
	return fakemodel.Options{
		PageSize: c.PageSize, Pages: c.Pages, MaxRows: c.MaxRunning, Vocab: vocab, Context: c.ContextLength,
		EOSChance: 0.03, CheckReads: true, Manual: true,
	}
}

func (c *Config) former() sched.FormerOptions {
	return sched.FormerOptions{
		PageSize: c.PageSize, Pages: c.Pages, MaxRunning: c.MaxRunning, ChunkedPrefillSize: c.Chunk,
		MaxPrefillTokens: 100, ContextLength: c.ContextLength, CacheDisabled: c.CacheDisabled,
		RetractEvery: c.RetractEvery, AuditEveryStep: c.Seed%2 == 0,
	}
}

// requests draws the requests of a run: prompts that share prefixes, are equal
// or fill the whole capacity.
func (c *Config) requests(r *rand.Rand) []*client {
	stems := make([][]int32, 3)
	for i := range stems {
		stems[i] = draw(r, c.capacity())
	}
	clients := make([]*client, c.Requests)
	for i := range clients {
		id := messages.RequestID(i + 1)
		if i > 0 && r.IntN(4) == 0 { // another choice of an earlier prompt
			clients[i] = c.request(r, id, clients[r.IntN(i)].prompt)
			continue
		}
		n := 1 + r.IntN(c.capacity()-1)
		if r.IntN(2) == 0 {
			n = 1 + n/4
		}
		stem := stems[r.IntN(len(stems))][:r.IntN(n)]
		clients[i] = c.request(r, id, append(append([]int32(nil), stem...), draw(r, n-len(stem))...))
	}
	return clients
}

func (c *Config) request(r *rand.Rand, id messages.RequestID, prompt []int32) *client {
	room := c.capacity() - len(prompt)
	p := &messages.SamplingParams{
		Temperature: pick[float32](r, 0, 1), TopP: 1, RepetitionPenalty: pick[float32](r, 1, 1.1),
		Seed: r.Uint64(), MaxTokens: 1 + r.IntN(room), EOSTokenIDs: []int32{0, 1},
		IgnoreEOS: r.IntN(4) == 0, TopLogprobs: pick(r, messages.NoLogprobs, 0, 2),
		PromptLogprobs: pick(r, messages.NoLogprobs, messages.NoLogprobs, 0, 1),
	}
	if r.IntN(3) == 0 {
		p.MaxTokens = room
	}
	if r.IntN(4) == 0 {
		p.MinTokens = r.IntN(10)
	}
	if r.IntN(4) == 0 {
		p.StopTokenIDs = []int32{int32(2 + r.IntN(vocab-2))}
	}
	if p.PromptLogprobs >= 0 {
		p.PromptLogprobStart = r.IntN(len(prompt))
	}
	cl := &client{id: id, prompt: prompt, params: p, namespace: pick(r, "", "", "", "tenant"), alone: r.IntN(12) == 0, cancelAt: -1}
	cl.expect(c)
	if r.IntN(4) == 0 {
		// The twin of a stop string: a token of the output.
		cl.stop = cl.want[r.IntN(len(cl.want))]
		cl.hasStop = true
		cl.expect(c)
	}
	if r.Float64() < c.Cancels {
		cl.cancelAt = r.IntN(400)
	}
	return cl
}

func draw(r *rand.Rand, n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(r.IntN(vocab))
	}
	return tokens
}
