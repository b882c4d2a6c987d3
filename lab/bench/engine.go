package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

type EngineOptions struct {
	Send     func(messages.ToIntake) // sends a message to intake
	Fatal    <-chan error            // receives the reason when the engine fails for good
	Vocab    int
	Seed     uint64
	Chunk    int // tokens of a prompt that a step computes at most
	PageSize int // tokens; whole pages of a prefix are found in the cache
}

// Engine does tests through the actors of an engine, as a client without HTTP.
type Engine struct {
	opt     EngineOptions
	prompts Prompts
	calls   messages.CallID
}

// NewEngine makes a client of an engine that has no other.
func NewEngine(o EngineOptions) *Engine {
	return &Engine{opt: o, prompts: Prompts{o.Seed, o.Vocab}}
}

// Prepare computes the bases as prompts, which leaves them in the prefix cache.
func (e *Engine) Prepare(ctx context.Context, t Test) error {
	if t.Depth == 0 {
		return nil
	}
	bases := make([][]int32, t.Batch)
	for i := range bases {
		bases[i] = e.prompts.Base(i, t.Depth)
	}
	if err := e.call(bases, 1).end(ctx); err != nil {
		return err
	}
	// A prompt enters the cache with the next plan at the latest; this request brings it.
	return e.call([][]int32{e.prompts.Base(t.Batch, 1)}, 1).end(ctx)
}

func (e *Engine) Once(ctx context.Context, t Test, repetition int) (Sample, error) {
	if t.Prompt > 0 {
		return e.prompt(ctx, t, repetition)
	}
	return e.generate(ctx, t)
}

// prompt measures the time to a prompt's only output token; cached tokens do not count.
func (e *Engine) prompt(ctx context.Context, t Test, repetition int) (Sample, error) {
	tokens := append(e.prompts.Base(0, t.Depth), e.prompts.fresh(t, repetition)...)
	start := time.Now()
	c := e.call([][]int32{tokens}, 1)
	if err := c.end(ctx); err != nil {
		return Sample{}, err
	}
	took := time.Since(start)
	computed := len(tokens) - c.cached
	if computed >= t.Prompt+e.opt.PageSize || computed < 1 {
		return Sample{}, fmt.Errorf("%d tokens were computed instead of %d: the prefix cache is too small for %d tokens; raise --mem-fraction-static or --max-total-tokens", computed, t.Prompt, t.Depth)
	}
	steps, read := positions(len(tokens)-computed, computed, e.opt.Chunk)
	return Sample{Tokens: computed, Took: took, Steps: steps, Positions: read}, nil
}

// generate measures the time from the first token of the last sequence until all
// have generated as many more, on average, as the test wants.
func (e *Engine) generate(ctx context.Context, t Test) (Sample, error) {
	bases := make([][]int32, t.Batch)
	for i := range bases {
		// At depth 0 a token is needed to begin with.
		bases[i] = e.prompts.Base(i, max(t.Depth, 1))
	}
	c := e.call(bases, t.Generate+t.lead())
	begun, seen := 0, make([]bool, t.Batch)
	for begun < t.Batch {
		out, err := c.next(ctx)
		if err != nil {
			return Sample{}, err
		}
		if !seen[out.Index] && len(out.Tokens) > 0 {
			seen[out.Index] = true
			begun++
		}
		if out.Finish != nil {
			c.drop()
			return Sample{}, errors.New("the sequences did not all run at the same time: one ended before the last began; raise --max-running-requests or --chunked-prefill-size, or lower --batch")
		}
	}
	start, before := time.Now(), c.tokens
	for tokens, open := before+t.Tokens(), c.open; c.tokens < tokens && c.open == open; {
		if _, err := c.next(ctx); err != nil {
			return Sample{}, err
		}
	}
	took, tokens := time.Since(start), c.tokens-before
	s := Sample{Tokens: tokens, Took: took, Steps: (tokens + t.Batch/2) / t.Batch}
	s.Positions = Decoded(max(t.Depth, 1)+before/t.Batch-1, s.Steps, t.Batch)
	return s, c.end(ctx) // the machine is quiet again
}

type call struct {
	engine *Engine
	id     messages.CallID
	events chan messages.CallEvent
	open   int // requests without an end
	tokens int // so far, of all requests
	cached int // tokens of prompts found in the cache
}

func (e *Engine) call(prompts [][]int32, tokens int) *call {
	e.calls++
	// Intake does not wait for a slow reader.
	c := &call{engine: e, id: e.calls, events: make(chan messages.CallEvent, 16+4*len(prompts)), open: len(prompts)}
	params := &messages.SamplingParams{
		TopP: 1, RepetitionPenalty: 1, MaxTokens: tokens, IgnoreEOS: true, Seed: e.opt.Seed,
		TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs,
	}
	m := &messages.SubmitRequests{Call: c.id, UserID: fmt.Sprint("bench-", c.id), Events: c.events}
	for _, p := range prompts {
		m.Requests = append(m.Requests, messages.Submission{Prompt: p, Params: params, Stream: true, Continues: true, After: -1})
	}
	e.opt.Send(m)
	return c
}

// end waits for the end of all requests.
func (c *call) end(ctx context.Context) error {
	for c.open > 0 {
		if _, err := c.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) next(ctx context.Context) (*messages.CallOutput, error) {
	for {
		select {
		case <-ctx.Done():
			c.drop()
			return nil, ctx.Err()
		case err := <-c.engine.opt.Fatal:
			return nil, err
		case event := <-c.events:
			switch out := event.(type) {
			case *messages.CallRefused:
				return nil, errors.New(out.Message)
			case *messages.CallOutput:
				return out, c.take(out)
			}
		}
	}
}

func (c *call) take(out *messages.CallOutput) error {
	c.tokens += len(out.Tokens)
	if f := out.Finish; f != nil {
		c.open--
		c.cached += out.Usage.CachedTokens
		if f.Reason == messages.FinishError || f.Reason == messages.FinishAbort {
			c.drop()
			return errors.New(f.Message)
		}
	}
	if out.Paused {
		c.engine.opt.Send(&messages.ResumeOutput{Call: c.id})
	}
	return nil
}

func (c *call) drop() { c.engine.opt.Send(&messages.DropCall{Call: c.id}) }
