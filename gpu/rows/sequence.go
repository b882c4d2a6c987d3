package rows

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// Sequence is a row's work in a step, valid until its end; the device only writes Result.
type Sequence struct {
	Row gpu.Row
	// Pages is the whole page table; it covers the positions that are computed.
	Pages []int32
	// Tokens are computed and stored at positions Start, Start+1, …
	Tokens []int32
	Start  int
	// Sample, if not nil, samples the next token from the last token's logits.
	Sample     *Sample
	Score      Score
	KeepLogits bool
	// Result is filled in by the device. Tokens has space for RowWork.Sample of them.
	Result *gpu.RowResult
}

// Score asks for the log probabilities of the tokens that follow positions From,
// From+1, …, all of which are computed in this step.
type Score struct {
	From    int
	Targets []int32 // Targets[i] is the token at position From+i+1
	Top     int
}

type Sample struct {
	*gpu.Sampling
	Position int // of the token
	// History are the tokens so far, each once, in any order; empty without penalties.
	History []TokenCount
	Mask    []int32  // not sampled
	Allowed []uint32 // the bits of the grammar's mask, once Draws has been called; nil: there is none
	Grammar gpu.Mask
	words   int // of a mask
}

// Draws reports whether the sequence's next token is to be drawn now, and fills in
// Sample.Allowed. If not, it says why in Result.
func (q *Sequence) Draws() bool {
	s := q.Sample
	if s == nil || s.Grammar == nil {
		return s != nil
	}
	bits, err, ready := s.Grammar.Bits()
	if ready && err == nil && len(bits) != s.words { // one that was not ready when the step began
		err = fmt.Errorf("bug: a mask of %d words; the vocabulary needs %d; please report this", len(bits), s.words)
	}
	s.Allowed, q.Result.Err, q.Result.Late = bits, err, !ready
	return ready && err == nil
}

// next is how the token after all known ones is sampled. It depends only on the row's
// tokens, not on how the row got them.
func (r *row) next(w *gpu.RowWork, words int) *Sample {
	s := &r.sample
	*s = Sample{Sampling: &r.sampling, Position: len(r.tokens), History: r.history.counts, Grammar: w.Mask, words: words}
	if len(r.tokens)-r.prompt < r.sampling.MinTokens {
		s.Mask = r.sampling.EndTokens
	}
	return s
}
