package rows

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

func (t *Table) checkPages(id gpu.Row, pages []int32) error {
	for _, p := range pages {
		if p < 1 || int(p) > t.spec.Pages {
			return fmt.Errorf("row %d: page %d is out of range (1 to %d)", id, p, t.spec.Pages)
		}
	}
	return nil
}

func (t *Table) known(token int32) bool { return token >= 0 && int(token) < t.vocab }

func (t *Table) checkOpened(o *gpu.RowOpened) error {
	n := len(o.Prompt) + len(o.Output)
	switch {
	case len(o.Prompt) == 0:
		return errors.New("the prompt is empty")
	case n > t.spec.Context:
		return fmt.Errorf("the request has %d tokens; the context is %d", n, t.spec.Context)
	}
	for _, part := range [][]int32{o.Prompt, o.Output} {
		for i, token := range part {
			if !t.known(token) {
				return fmt.Errorf("token %d (at index %d) is outside the vocabulary of %d", token, i, t.vocab)
			}
		}
	}
	if s := &o.Score; s.From < s.To && (s.From < 1 || s.To > n) || s.Top < 0 {
		return fmt.Errorf("log probabilities of positions %d to %d (top %d) are requested, but the request has %d tokens", s.From, s.To-1, s.Top, n)
	}
	if err := t.checkSampling(&o.Sampling); err != nil {
		return fmt.Errorf("sampling: %w", err)
	}
	return nil
}

func (t *Table) checkSampling(s *gpu.Sampling) error {
	switch {
	case !(s.Temperature >= 0): // or NaN
		return fmt.Errorf("temperature is %v; it must be at least 0", s.Temperature)
	case !(s.TopP >= 0):
		return fmt.Errorf("top_p is %v; it must be at least 0", s.TopP)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("min_p is %v; it must be between 0 and 1", s.MinP)
	case s.TopK < 0:
		return fmt.Errorf("top_k is %d; it must be at least 0 (0: off)", s.TopK)
	case !(s.RepetitionPenalty > 0):
		return fmt.Errorf("repetition_penalty is %v; it must be above 0 (1: off)", s.RepetitionPenalty)
	case s.FrequencyPenalty != s.FrequencyPenalty || s.PresencePenalty != s.PresencePenalty:
		return errors.New("frequency_penalty or presence_penalty is not a number")
	}
	for _, b := range s.Bias {
		if !t.known(b.Token) || b.Bias != b.Bias {
			return fmt.Errorf("the bias of token %d is %v; it must be a number, and the token must be in the vocabulary of %d", b.Token, b.Bias, t.vocab)
		}
	}
	for _, token := range s.EndTokens {
		if !t.known(token) {
			return fmt.Errorf("end token %d is outside the vocabulary of %d", token, t.vocab)
		}
	}
	return nil
}

// checkWork refuses work that a correct plan never contains.
func (t *Table) checkWork(w *gpu.RowWork, r *row) error {
	end, held, known := w.Start+w.Count, len(r.pages)*t.spec.PageSize, len(r.tokens)+len(w.Forced)
	last := end + max(w.Sample, 1) - 1 // positions that get KV, at most
	switch {
	case w.Count < 1 || w.Count > known:
		return fmt.Errorf("has %d tokens to compute, but %d are known", w.Count, known)
	case w.Start != r.computed:
		return fmt.Errorf("has positions %d to %d to compute, but has the KV of the first %d", w.Start, end-1, r.computed)
	case end > known:
		return fmt.Errorf("has positions %d to %d to compute, but %d tokens are known", w.Start, end-1, known)
	case w.Sample < 0 || w.Sample > t.spec.Context:
		return fmt.Errorf("has %d tokens to sample; it must be between 0 and the context of %d", w.Sample, t.spec.Context)
	case last > held:
		return fmt.Errorf("has positions %d to %d to compute, but its %d pages hold %d positions", w.Start, last-1, len(r.pages), held)
	case last > t.spec.Context:
		return fmt.Errorf("has positions %d to %d to compute, but the context is %d", w.Start, last-1, t.spec.Context)
	case w.Sample > 0 && end != known:
		return fmt.Errorf("samples after position %d, but has %d tokens", end-1, known)
	case w.Mask != nil && w.Sample != 1:
		return fmt.Errorf("has a mask for one token, but samples %d tokens", w.Sample)
	case len(w.Forced) > 0 && w.Sample == 0:
		return fmt.Errorf("has %d certain tokens, but samples none", len(w.Forced))
	}
	for _, token := range w.Forced {
		if !t.known(token) {
			return fmt.Errorf("has the certain token %d, which is outside the vocabulary of %d", token, t.vocab)
		}
	}
	if w.Mask == nil {
		return nil
	}
	if bits, _, _ := w.Mask.Bits(); bits != nil && len(bits) != t.words() {
		return fmt.Errorf("has a mask of %d words; a vocabulary of %d needs %d", len(bits), t.vocab, t.words())
	}
	return nil
}
