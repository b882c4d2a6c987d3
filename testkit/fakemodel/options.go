package fakemodel

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Options are the dimensions and habits of a fake model. All numbers are hard
// limits: a step beyond one fails.
type Options struct {
	PageSize int // tokens per page, >= 1; example 16
	Pages    int // usable pages, ids 1..Pages, >= 1; example 256
	MaxRows  int // rows of the request table, >= 1; example 64
	Vocab    int // tokens, ids 0..Vocab-1, >= 2; example 512
	// Context is the greatest number of tokens of a row; zero means no limit
	// but the pool.
	Context int
	// EOSChance is the probability, in [0, 1], that a draw returns one of the
	// request's EOSTokenIDs. They are never drawn otherwise. Example 0.02.
	EOSChance float64
	// TokensPerStep is the maximum of tokens of a row per step, as with a device
	// that speculates; 0 means 1. Their number depends on what was computed, the
	// tokens do not.
	TokensPerStep int
	// LateChance is the probability, in [0, 1), that a row with a grammar is late in a step:
	// it samples nothing, and computes its last token again. Example 0.2.
	LateChance float64
	// Allowed, if not nil, says for a grammar which tokens may follow an output. Without it
	// grammars have no effect.
	Allowed func(g *messages.Grammar, output []int32) func(token int32) bool
	// Script, if not nil, is what the model says: the token after an output. It is taken if the
	// request's grammar allows it.
	Script func(prompt, output []int32) (token int32, ok bool)
	// CheckReads compares each KV value with what the row's tokens demand
	// whenever it is read, so that a stale page fails the step at once and by
	// name instead of changing the output.
	CheckReads bool
	// Manual leaves steps in a queue until Complete is called.
	Manual bool
	// Async executes steps on a goroutine of the executor. Manual wins.
	Async bool
	// StepTime is how long an Async step takes at least; zero means no wait.
	StepTime time.Duration
	// Faults are injected from the start; Inject adds more.
	Faults []Fault
}

// Validate reports the first option that is out of range.
func (o *Options) Validate() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{{"PageSize", o.PageSize, 1}, {"Pages", o.Pages, 1}, {"MaxRows", o.MaxRows, 1}, {"Vocab", o.Vocab, 2}, {"Context", o.Context, 0}, {"TokensPerStep", o.TokensPerStep, 0}} {
		if f.value < f.min {
			return fmt.Errorf("fakemodel: %s is %d, want at least %d", f.name, f.value, f.min)
		}
	}
	if !(o.LateChance >= 0 && o.LateChance < 1) {
		return fmt.Errorf("fakemodel: LateChance is %v, want a probability in [0, 1)", o.LateChance)
	}
	if !(o.EOSChance >= 0 && o.EOSChance <= 1) {
		return fmt.Errorf("fakemodel: EOSChance is %v, want a probability in [0, 1]", o.EOSChance)
	}
	return nil
}
