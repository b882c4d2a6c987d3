package rows

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
)

// TestStepsBegunAhead: steps that begin before the one before them has ended get what
// steps get that run one by one, but for tokens that are not known yet.
func TestStepsBegunAhead(t *testing.T) {
	unknown, waited := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		twins := make([]*twin, small.Rows)
		single, ahead := New(program, small), New(program, small)
		type begun struct {
			batch  *gpu.StepBatch
			tokens []int32 // sampled, by work; nothing: -2
			failed []error
			fresh  []bool // failed in this step
			all    []Sequence
		}
		var open []begun
		end := func() {
			s := open[0]
			open = open[1:]
			at := 0 // of s.all
			for i := range s.batch.Work {
				if at == len(s.all) || s.all[at].Row != s.batch.Work[i].Row {
					continue // of a row with an error
				}
				if s.fresh[i] { // a device does not know of failures before this step
					s.all[at].Result.Err = s.failed[i]
				} else if s.tokens[i] >= 0 {
					s.all[at].Result.Tokens = append(s.all[at].Result.Tokens, s.tokens[i])
				}
				at++
			}
			r, err := ahead.End(nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.batch.Work {
				var want []int32
				if s.failed[i] == nil && s.tokens[i] >= 0 {
					want = s.tokens[i : i+1]
				}
				if !slices.Equal(r.Rows[i].Tokens, want) || r.Rows[i].Err != s.failed[i] {
					t.Fatalf("row %d: %v, %v, want %v, %v", s.batch.Work[i].Row, r.Rows[i].Tokens, r.Rows[i].Err, want, s.failed[i])
				}
			}
		}
		broken := make([]error, small.Rows) // why a row samples nothing more
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			b := &gpu.StepBatch{}
			if rapid.IntRange(0, 9).Draw(t, "reset") == 0 {
				b.Reset = true
				clear(twins)
			}
			for id := range twins {
				drawRow(t, gpu.Row(id), twins, b, 1)
			}
			for _, o := range b.Opened {
				broken[o.Row] = nil
			}
			var texts []string
			s := begun{batch: b}
			_, err := single.Run(b, func(all []Sequence) error {
				for i := range all {
					texts = append(texts, text(&all[i]))
					if all[i].Sample != nil {
						all[i].Result.Tokens = append(all[i].Result.Tokens, next(twins[all[i].Row].tokens, 0))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Work {
				w, row := &b.Work[i], twins[b.Work[i].Row]
				token, failed, fresh := int32(-2), broken[w.Row], false
				if w.Sample > 0 {
					token = next(row.tokens, 0)
					if failed == nil && rapid.IntRange(0, 15).Draw(t, "fails") == 0 {
						failed = errors.New("nothing to sample")
						broken[w.Row], fresh = failed, true
					}
				}
				s.tokens, s.failed = append(s.tokens, token), append(s.failed, failed)
				s.fresh = append(s.fresh, fresh)
			}
			if ahead.Waits(b) {
				waited++
				for len(open) > 0 {
					end()
				}
			}
			for len(open) == gpu.StepsInFlight || len(open) > 0 && rapid.Bool().Draw(t, "ends") {
				end()
			}
			if s.all, err = ahead.Begin(b); err != nil {
				t.Fatal(err)
			}
			open = append(open, s)
			at := 0
			for i := range b.Work {
				if at == len(s.all) || s.all[at].Row != b.Work[i].Row {
					continue
				}
				q := s.all[at]
				q.Tokens = slices.Clone(q.Tokens)
				if n := len(q.Tokens) - 1; q.Tokens[n] == Unknown {
					row := twins[q.Row]
					q.Tokens[n] = row.tokens[q.Start+n]
					unknown++
				}
				if got := text(&q); got != texts[i] {
					t.Fatalf("row %d\ngot  %s\nwant %s", q.Row, got, texts[i])
				}
				at++
			}
			for i, w := range b.Work {
				row := twins[w.Row]
				row.computed = w.Start + w.Count
				if w.Sample > 0 {
					row.tokens = append(row.tokens, s.tokens[i])
				}
			}
		}
		for len(open) > 0 {
			end()
		}
	})
	if unknown == 0 || waited == 0 {
		t.Errorf("%d tokens were unknown when their step began, %d steps waited; both must have happened", unknown, waited)
	}
}

// A row is late while a step without it has begun: it goes on where it was.
func TestALateRowBesideAStepBegunAhead(t *testing.T) {
	table := New(program, small)
	open := func(id gpu.Row) gpu.RowOpened {
		return gpu.RowOpened{Row: id, Prompt: []int32{1, 2}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}
	}
	begin := func(b *gpu.StepBatch) []Sequence {
		t.Helper()
		if table.Waits(b) {
			t.Fatal("the step waits")
		}
		all, err := table.Begin(b)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	end := func() {
		t.Helper()
		if _, err := table.End(nil); err != nil {
			t.Fatal(err)
		}
	}
	draw := func(q *Sequence, token int32) {
		if q.Draws() {
			q.Result.Tokens = append(q.Result.Tokens, token)
		}
	}
	first := begin(&gpu.StepBatch{Opened: []gpu.RowOpened{open(0), open(1)}, Grown: []gpu.RowGrown{{Row: 0, Pages: []int32{1, 2}}, {Row: 1, Pages: []int32{3, 4}}},
		Work: []gpu.RowWork{{Row: 0, Count: 2, Sample: 1, Mask: notReady{}}, {Row: 1, Count: 2, Sample: 1}}})
	second := begin(&gpu.StepBatch{Work: []gpu.RowWork{{Row: 1, Start: 2, Count: 1, Sample: 1}}})
	draw(&first[0], 7)
	draw(&first[1], 8)
	end()
	draw(&second[0], 9)
	third := begin(&gpu.StepBatch{Work: []gpu.RowWork{{Row: 0, Start: 1, Count: 1, Sample: 1, Mask: gpu.Allow([]uint32{1 << 5, 0})}}})
	end()
	if q := &third[0]; !slices.Equal(q.Tokens, []int32{2}) || q.Start != 1 || !q.Draws() {
		t.Fatalf("the late row computes %v at %d", q.Tokens, q.Start)
	}
	third[0].Result.Tokens = append(third[0].Result.Tokens, 5)
	end()
	if next := begin(&gpu.StepBatch{Work: []gpu.RowWork{{Row: 0, Start: 2, Count: 1, Sample: 1}, {Row: 1, Start: 3, Count: 1, Sample: 1}}}); next[0].Tokens[0] != 5 || next[1].Tokens[0] != 9 {
		t.Errorf("then the rows compute %v and %v, want 5 and 9", next[0].Tokens, next[1].Tokens)
	}
}

// A step that fails takes the one behind it along, and nothing runs before a reset.
func TestAFailedStepTakesTheNextAlong(t *testing.T) {
	table := New(program, small)
	first := &gpu.StepBatch{
		Opened: []gpu.RowOpened{{Prompt: []int32{1, 2}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}},
		Grown:  []gpu.RowGrown{{Pages: []int32{1}}},
		Work:   []gpu.RowWork{{Count: 2, Sample: 1}},
	}
	second := &gpu.StepBatch{Work: []gpu.RowWork{{Start: 2, Count: 1, Sample: 1}}}
	if _, err := table.Begin(first); err != nil {
		t.Fatal(err)
	}
	all, err := table.Begin(second)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all[0].Tokens, []int32{Unknown}) {
		t.Fatalf("the second step computes %v, want the token that is not known yet", all[0].Tokens)
	}
	if _, err := table.Begin(second); err == nil || !strings.Contains(err.Error(), "2 steps have no end") {
		t.Fatalf("a third step: %v", err)
	}
	if _, err := table.End(errors.New("the device is on fire")); err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Fatal(err)
	}
	all[0].Result.Tokens = append(all[0].Result.Tokens, 7)
	if _, err := table.End(nil); err == nil || !strings.Contains(err.Error(), "the step before it failed: the device is on fire") {
		t.Fatalf("the step behind: %v", err)
	}
	if _, err := table.Begin(second); err == nil || !strings.Contains(err.Error(), "were not reset") {
		t.Fatal(err)
	}
	first.Reset = true
	must(t, table, first, 3)
}

// A step whose changes are wrong fails alone: the one before it ends as usual.
func TestABadStepLeavesTheOneBeforeIt(t *testing.T) {
	table := New(program, small)
	first := &gpu.StepBatch{
		Opened: []gpu.RowOpened{{Prompt: []int32{1, 2}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}},
		Grown:  []gpu.RowGrown{{Pages: []int32{1}}},
		Work:   []gpu.RowWork{{Count: 2, Sample: 1}},
	}
	all, err := table.Begin(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Begin(&gpu.StepBatch{Closed: []gpu.Row{99}}); err == nil {
		t.Fatal("a row that does not exist was closed")
	}
	all[0].Result.Tokens = append(all[0].Result.Tokens, 7)
	if r, err := table.End(nil); err != nil || !slices.Equal(r.Rows[0].Tokens, []int32{7}) {
		t.Fatal(r, err)
	}
	if _, err := table.Begin(&gpu.StepBatch{}); err == nil || !strings.Contains(err.Error(), "were not reset") {
		t.Fatal(err)
	}
}

// A result stays as it is until the next step has ended, whatever begins meanwhile.
func TestAResultOutlivesTheNextBegin(t *testing.T) {
	table := New(program, small)
	step := func(id gpu.Row) *gpu.StepBatch {
		return &gpu.StepBatch{
			Opened: []gpu.RowOpened{{Row: id, Prompt: []int32{1, 2}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}},
			Grown:  []gpu.RowGrown{{Row: id, Pages: []int32{1 + int32(id)}}},
			Work:   []gpu.RowWork{{Row: id, Count: 2, Sample: 1}},
		}
	}
	begin := func(id gpu.Row) {
		all, err := table.Begin(step(id))
		if err != nil {
			t.Fatal(err)
		}
		all[0].Result.Tokens = append(all[0].Result.Tokens, 40+int32(id))
	}
	begin(0)
	begin(1)
	r, err := table.End(nil)
	if err != nil {
		t.Fatal(err)
	}
	begin(2)
	if !slices.Equal(r.Rows[0].Tokens, []int32{40}) {
		t.Errorf("the result has become %v", r.Rows[0].Tokens)
	}
}
