package exec_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
)

// Many rows with grammars whose masks and tables have little memory are computed side by side,
// late, closed while their masks are made, and opened again in other rows. Each output is that of
// the request alone.
func TestRowsBesideEachOther(t *testing.T) {
	v := bundledGrammars(t).Vocabulary()
	grammars := store.New(v, store.Options{Limits: grammar.Limits{Masks: 3 << 10, Tables: 150 << 10}})
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := &imagined{t: t, rows: map[gpu.Row][]int32{}, patience: 1}
		e := exec.New(&recorder{answer: m.answer}, exec.Options{Vocab: v.Size(), Grammars: grammars, StepTokens: 200})
		d := &driver{t: t, e: e}
		var mu sync.Mutex
		made := map[messages.RequestID]int{}
		e.Reset(func(id messages.RequestID) {
			mu.Lock()
			defer mu.Unlock()
			made[id]++
		})
		type request struct {
			*messages.EngineRequest
			row      int // -1: none
			computed int
			before   int // value of made before its step
			late     bool
			output   []int32
		}
		all := make([]*request, 12)
		free := []int{0, 1, 2, 3, 4, 5}
		for i := range all {
			g := runGrammars[random.IntN(len(runGrammars))]
			all[i] = &request{row: -1, EngineRequest: &messages.EngineRequest{ID: messages.RequestID(i + 1), Prompt: []int32{int32(5 + i), 9}, Params: params(func(p *messages.SamplingParams) {
				p.Grammar, p.EOSTokenIDs, p.MaxTokens = &g, v.End(), 20+random.IntN(40)
			})}}
		}
		over := func(r *request) bool {
			n := len(r.output)
			return n > 0 && r.Params.EndOf(r.output[n-1], n) != 0
		}
		var closed []messages.Row // for the next step
		for left := len(all); left > 0; {
			b, byRow := &messages.RunBatch{}, map[messages.Row]*request{}
			left = 0
			for _, r := range all {
				if r.row >= 0 && (over(r) || random.IntN(9) == 0) {
					closed, free = append(closed, messages.Row(r.row)), append(free, r.row)
					r.row, r.late = -1, false
				}
				if !over(r) {
					left++
				}
			}
			for _, r := range all {
				if r.row < 0 && !over(r) && len(free) > 0 {
					k := random.IntN(len(free))
					r.row, r.computed = free[k], 0
					free = slices.Delete(free, k, k+1)
					b.Opened = append(b.Opened, messages.RowOpened{Row: messages.Row(r.row), Request: r.EngineRequest, Output: slices.Clone(r.output)})
				}
				mu.Lock()
				waits := r.late && made[r.ID] == r.before
				r.before = made[r.ID]
				mu.Unlock()
				if r.row < 0 || waits {
					continue
				}
				r.late = false
				work := messages.RowWork{Row: messages.Row(r.row), Start: r.computed, Count: len(r.Prompt) + len(r.output) - r.computed, Sample: 1 + random.IntN(exec.RunTokens)}
				b.Work, byRow[work.Row] = append(b.Work, work), r
			}
			if len(b.Work) == 0 {
				runtime.Gosched() // all rows wait
				continue
			}
			b.Closed, closed = closed, nil
			done := d.must(b)
			if len(done.Failed) > 0 {
				t.Fatalf("failed: %+v", done.Failed)
			}
			for _, w := range b.Work {
				byRow[w.Row].computed += w.Count - 1
			}
			for _, s := range done.Sampled {
				r := byRow[s.Row]
				r.output, r.computed = append(r.output, s.Token), r.computed+1
			}
			for _, row := range done.Late {
				byRow[row].late = true
			}
		}
		for _, r := range all {
			if want := oneByOne(t, grammars, r.EngineRequest); !slices.Equal(r.output, want) {
				t.Errorf("seed %d, %s:\ngot  %v\nwant %v", seed, r.Params.Grammar.Text, r.output, want)
			}
		}
	}
}
