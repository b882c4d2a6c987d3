package exec

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

const (
	logitsPage  = 16  // tokens of a page of the pool that Logits makes
	logitsChunk = 256 // tokens of a step, which bounds the activations
)

// Logits computes one sequence and returns the raw logits after each of its
// tokens, [len(tokens)][vocab]. It gives the model an F32 pool of its own in
// place of any older one, so no step may be under way and no row be open.
func Logits(model gpu.Model, p *gpu.Program, tokens []int32) ([][]float32, error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("logits: no tokens; give at least one")
	}
	if len(tokens) > p.Context {
		return nil, fmt.Errorf("logits: %d tokens are more than the context of %d", len(tokens), p.Context)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= p.Vocab {
			return nil, fmt.Errorf("logits: token %d at position %d is outside the vocabulary, which has 0 to %d", t, i, p.Vocab-1)
		}
	}
	n := (len(tokens) + logitsPage - 1) / logitsPage
	if err := model.NewPool(gpu.PoolSpec{PageSize: logitsPage, Pages: n, DType: gpu.F32}); err != nil {
		return nil, err
	}
	pages := make([]int32, n)
	for i := range pages {
		pages[i] = int32(i + 1)
	}
	rows := make([][]float32, 0, len(tokens))
	for start := 0; start < len(tokens); start += logitsChunk {
		end := min(start+logitsChunk, len(tokens))
		result, err := wait(model, &gpu.StepBatch{Sequences: []gpu.Sequence{{Pages: pages, Tokens: tokens[start:end], Start: start, KeepLogits: true}}})
		if err != nil {
			return nil, err
		}
		if len(result.Sequences) != 1 || len(result.Sequences[0].Logits) != end-start {
			return nil, fmt.Errorf("logits: the device did not return the logits of positions %d to %d", start, end-1)
		}
		rows = append(rows, result.Sequences[0].Logits...)
	}
	return rows, nil
}

// wait runs a step to its end.
func wait(model gpu.Model, b *gpu.StepBatch) (*gpu.StepResult, error) {
	type answer struct {
		result *gpu.StepResult
		err    error
	}
	c := make(chan answer, 1)
	model.Submit(b, func(r *gpu.StepResult, err error) { c <- answer{r, err} })
	a := <-c
	return a.result, a.err
}
