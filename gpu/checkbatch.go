package gpu

import (
	"errors"
	"fmt"
)

// Check tells whether a step can run on a program with a pool: every error
// names the sequence. It does not allocate when all is well.
func (b *StepBatch) Check(p *Program, pool PoolSpec) error {
	for i := range b.Sequences {
		if err := b.Sequences[i].check(p, pool); err != nil {
			return fmt.Errorf("step: sequence %d of %d: %w", i, len(b.Sequences), err)
		}
	}
	return nil
}

func (s *Sequence) check(p *Program, pool PoolSpec) error {
	end := s.Start + len(s.Tokens)
	switch {
	case len(s.Tokens) == 0:
		return errors.New("has no tokens")
	case s.Start < 0 || end > p.Context || end < s.Start:
		return fmt.Errorf("positions %d to %d lie outside the context of %d", s.Start, end-1, p.Context)
	case (end+pool.PageSize-1)/pool.PageSize > len(s.Pages):
		return fmt.Errorf("%d pages of %d do not reach position %d", len(s.Pages), pool.PageSize, end-1)
	}
	for i, t := range s.Tokens {
		if t < 0 || int(t) >= p.Vocab {
			return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t, s.Start+i, p.Vocab)
		}
	}
	for i, g := range s.Pages[:(end+pool.PageSize-1)/pool.PageSize] {
		if g < 1 || int(g) > pool.Pages {
			return fmt.Errorf("page %d of its table is %d, outside 1..%d", i, g, pool.Pages)
		}
	}
	if s.Sample != nil {
		if err := s.Sample.check(p.Vocab); err != nil {
			return fmt.Errorf("sampling: %w", err)
		}
	}
	if c := s.Score; c != nil {
		if c.From < s.Start || c.From+len(c.Targets) > end || c.Top < 0 {
			return fmt.Errorf("scores from position %d for %d tokens (top %d) do not fit the step's positions %d to %d", c.From, len(c.Targets), c.Top, s.Start, end-1)
		}
		for _, t := range c.Targets {
			if t < 0 || int(t) >= p.Vocab {
				return fmt.Errorf("score: token %d is outside the vocabulary of %d", t, p.Vocab)
			}
		}
	}
	return nil
}

func (s *SampleSpec) check(vocab int) error {
	switch {
	case !(s.Temperature >= 0): // NaN too
		return fmt.Errorf("temperature %v; must be 0 or more", s.Temperature)
	case !(s.TopP >= 0):
		return fmt.Errorf("top_p %v; must be between 0 and 1", s.TopP)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("min_p %v; must be between 0 and 1", s.MinP)
	case s.TopK < 0:
		return fmt.Errorf("top_k %d; must be 0 (off) or more", s.TopK)
	case !(s.RepetitionPenalty > 0):
		return fmt.Errorf("repetition penalty %v; must be more than 0 (1 is off)", s.RepetitionPenalty)
	case s.FrequencyPenalty != s.FrequencyPenalty || s.PresencePenalty != s.PresencePenalty:
		return errors.New("a penalty is not a number")
	}
	for _, h := range s.History {
		if h.Token < 0 || int(h.Token) >= vocab {
			return fmt.Errorf("history token %d is outside the vocabulary of %d", h.Token, vocab)
		}
	}
	for _, b := range s.Bias {
		if b.Token < 0 || int(b.Token) >= vocab || b.Bias != b.Bias {
			return fmt.Errorf("bias %v of token %d: not a number or outside the vocabulary of %d", b.Bias, b.Token, vocab)
		}
	}
	for _, t := range s.Mask {
		if t < 0 || int(t) >= vocab {
			return fmt.Errorf("masked token %d is outside the vocabulary of %d", t, vocab)
		}
	}
	return nil
}

// CheckPages tells whether a copy of pages stays inside the pool.
func (s PoolSpec) CheckPages(src, dst []int32) error {
	if len(src) != len(dst) {
		return fmt.Errorf("copy of pages: %d sources for %d destinations", len(src), len(dst))
	}
	for i := range src {
		if src[i] < 1 || int(src[i]) > s.Pages || dst[i] < 1 || int(dst[i]) > s.Pages {
			return fmt.Errorf("copy of pages: %d to %d is outside 1..%d", src[i], dst[i], s.Pages)
		}
	}
	return nil
}
