package bench

import (
	"fmt"
	"strconv"

	"github.com/troupe-engine/troupe/internal/paging"
)

// Test is one line of the table: a prompt to compute, or tokens to generate.
type Test struct {
	Prompt   int // tokens of a prompt; 0 for a test that generates
	Generate int // tokens of each sequence; 0 for a prompt
	Batch    int // sequences that generate together, 1 for a prompt
	Depth    int // tokens in each sequence's cache before, not timed
}

// String is the test's name in llama-bench: pp512, tg128, tg128 @ d4096. The number
// after x is that of sequences that generate at once.
func (t Test) String() string {
	s := "pp" + strconv.Itoa(t.Prompt)
	if t.Prompt == 0 {
		s = "tg" + strconv.Itoa(t.Generate)
	}
	if t.Batch > 1 {
		s += " x" + strconv.Itoa(t.Batch)
	}
	if t.Depth > 0 {
		s += " @ d" + strconv.Itoa(t.Depth)
	}
	return s
}

// Positions is how many positions a sequence has at the end.
func (t Test) Positions() int { return t.Depth + t.Prompt + t.Generate }

// Tokens is how many tokens a repetition computes.
func (t Test) Tokens() int { return t.Prompt + t.Generate*t.Batch }

type Matrix struct {
	Prompts   []int // tokens; 0 is none
	Generates []int // tokens; 0 is none
	Depths    []int
	Batches   []int
}

// Bounds of the flags; a model's context is checked as well.
const (
	maxTokens = 1 << 24
	maxBatch  = 1 << 14
)

// Tests lists all combinations by depth, prompts before generations; errors name flags.
func (m Matrix) Tests() ([]Test, error) {
	for _, l := range []struct {
		flag      string
		values    []int
		low, high int
	}{
		{"prompt", m.Prompts, 0, maxTokens}, {"generate", m.Generates, 0, maxTokens},
		{"depth", m.Depths, 0, maxTokens}, {"batch", m.Batches, 1, maxBatch},
	} {
		for _, v := range l.values {
			if v < l.low || v > l.high {
				return nil, fmt.Errorf("--%s has %d; each entry must be between %d and %d", l.flag, v, l.low, l.high)
			}
		}
		if len(l.values) == 0 {
			return nil, fmt.Errorf("--%s is empty; use comma-separated numbers", l.flag)
		}
	}
	var tests []Test
	for _, d := range m.Depths {
		for _, p := range m.Prompts {
			if p > 0 {
				tests = append(tests, Test{Prompt: p, Batch: 1, Depth: d})
			}
		}
		for _, g := range m.Generates {
			for _, b := range m.Batches {
				if g > 0 {
					tests = append(tests, Test{Generate: g, Batch: b, Depth: d})
				}
			}
		}
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("--prompt and --generate are 0: there is nothing to measure")
	}
	return tests, nil
}

// Limits are what a model and its pool can hold.
type Limits struct {
	Context  int // positions of a sequence
	Pool     int // positions of all sequences together
	Running  int // sequences at once
	PageSize int
}

func (l Limits) Check(t Test) error {
	positions := t.Positions()
	if t.Generate > 0 {
		positions += t.lead()
	}
	pool := paging.Pages(positions, l.PageSize) * l.PageSize * t.Batch
	switch err := t.fits(positions, l.Context); {
	case err != nil:
		return err
	case t.Batch > l.Running:
		return fmt.Errorf("test %s requires %d sequences at the same time, but only %d may run; raise --max-running-requests", t, t.Batch, l.Running)
	case pool > l.Pool:
		return fmt.Errorf("test %s requires a KV pool of %d tokens, but it has %d; raise --mem-fraction-static or --max-total-tokens, or use --kv-cache-dtype int8", t, pool, l.Pool)
	}
	return nil
}

// lead is the number of tokens that a sequence generates besides the timed ones: the
// first one, which comes with the prompt, and some until all of a batch have theirs.
func (t Test) lead() int {
	if t.Batch > 1 {
		return 8
	}
	return 1
}

func (t Test) fits(positions, context int) error {
	if positions <= context {
		return nil
	}
	return fmt.Errorf("test %s requires a context of %d tokens, but the model has %d; lower --depth, --prompt or --generate, or raise --context-length", t, positions, context)
}
