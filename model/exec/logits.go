package exec

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/internal/paging"
)

const (
	logitsPage  = 16  // tokens of a page of the pool that Logits makes
	logitsChunk = 256 // tokens of a step, which bounds the activations
)

// Logits computes one sequence and returns the raw logits after each of its
// tokens, [len(tokens)][vocab]. It replaces the model's pool by an F32 pool,
// so no step may be in flight.
func Logits(model gpu.Model, p *gpu.Program, tokens []int32) ([][]float32, error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("logits: no tokens; give at least one")
	}
	if len(tokens) > p.Context {
		return nil, fmt.Errorf("logits: %d tokens are more than the context of %d", len(tokens), p.Context)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= p.Vocab {
			return nil, fmt.Errorf("logits: token %d at position %d is outside the vocabulary (0 to %d)", t, i, p.Vocab-1)
		}
	}
	n := paging.Pages(len(tokens), logitsPage)
	if err := model.NewPool(gpu.PoolSpec{PageSize: logitsPage, Pages: n, DType: gpu.F32, Rows: 1, Context: p.Context, StepTokens: logitsChunk}); err != nil {
		return nil, err
	}
	pages := make([]int32, n)
	for i := range pages {
		pages[i] = int32(i + 1)
	}
	step := &gpu.StepBatch{
		Opened: []gpu.RowOpened{{Prompt: tokens, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1}}},
		Grown:  []gpu.RowGrown{{Pages: pages}},
	}
	logits := make([][]float32, 0, len(tokens))
	for start := 0; start < len(tokens); start += logitsChunk {
		count := min(logitsChunk, len(tokens)-start)
		step.Work = []gpu.RowWork{{Start: start, Count: count, KeepLogits: true}}
		rows, err := wait(model, step)
		if err != nil {
			return nil, err
		}
		if len(rows) != count {
			return nil, fmt.Errorf("logits: the device did not return the logits of positions %d to %d", start, start+count-1)
		}
		logits = append(logits, rows...)
		step = &gpu.StepBatch{}
	}
	return logits, nil
}

func wait(model gpu.Model, b *gpu.StepBatch) (logits [][]float32, err error) {
	ended := make(chan struct{})
	model.Submit(b, func(r *gpu.StepResult, failed error) {
		if err = failed; err == nil && len(r.Rows) == 1 {
			logits = r.Rows[0].Logits
		}
		close(ended)
	})
	<-ended
	return logits, err
}
