package rows

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
)

// twin is a row as the deltas describe it, without any state that could go
// stale: everything is counted from the tokens each time.
type twin struct {
	opened   gpu.RowOpened
	tokens   []int32
	pages    []int32
	computed int
}

// sequence is what a device must get for the row's work, as text.
func (r *twin) sequence(w gpu.RowWork) string {
	r.tokens = append(r.tokens, w.Forced...)
	end := w.Start + w.Count
	text := fmt.Sprint(w.Row, r.pages, r.tokens[w.Start:end], w.Start, w.KeepLogits)
	for at := w.Start; at < end; at++ { // the logits of at are about at+1
		if at+1 >= r.opened.Score.From && at+1 < r.opened.Score.To {
			text += fmt.Sprint(" score ", at, r.tokens[at+1], r.opened.Score.Top)
		}
	}
	if w.Sample == 0 {
		return text
	}
	s, output := r.opened.Sampling, r.tokens[len(r.opened.Prompt):]
	var mask []int32
	if len(output) < s.MinTokens {
		mask = s.EndTokens
	}
	text += fmt.Sprint(" sample ", s, end, mask, w.Mask)
	if s.FrequencyPenalty != 0 || s.PresencePenalty != 0 || s.RepetitionPenalty != 1 {
		for token := range int32(program.Vocab) {
			c := TokenCount{Token: token, InPrompt: s.RepetitionPenalty != 1 && slices.Contains(r.opened.Prompt, token)}
			for _, o := range output {
				if o == token {
					c.Output++
				}
			}
			if c.InPrompt || c.Output > 0 {
				text += fmt.Sprint(c)
			}
		}
	}
	return text
}

// text brings a sequence to the same form: the order of the history does not
// matter.
func text(s *Sequence) string {
	text := fmt.Sprint(s.Row, s.Pages, s.Tokens, s.Start, s.KeepLogits)
	for i, target := range s.Score.Targets {
		text += fmt.Sprint(" score ", s.Score.From+i, target, s.Score.Top)
	}
	if s.Sample == nil {
		return text
	}
	text += fmt.Sprint(" sample ", *s.Sample.Sampling, s.Sample.Position, s.Sample.Mask, s.Sample.Grammar)
	counts := slices.Clone(s.Sample.History)
	slices.SortFunc(counts, func(a, b TokenCount) int { return int(a.Token - b.Token) })
	for _, c := range counts {
		text += fmt.Sprint(c)
	}
	return text
}

// notReady is a mask that is still being made.
type notReady struct{}

// Bits implements gpu.Mask.
func (notReady) Bits() (bits []uint32, err error, ready bool) { return nil, nil, false }

// isLate reports whether the device finds that the work's mask is not ready.
func isLate(w gpu.RowWork) bool {
	if w.Mask == nil {
		return false
	}
	_, _, ready := w.Mask.Bits()
	return !ready
}

// next is what the fake device samples.
func next(tokens []int32, i int) int32 {
	h := uint32(7 + i)
	for _, t := range tokens {
		h = h*31 + uint32(t)
	}
	return int32(h>>3) % int32(program.Vocab)
}

func drawOpened(t *rapid.T, id gpu.Row) gpu.RowOpened {
	token := rapid.Int32Range(0, int32(program.Vocab-1))
	maybe := func(v float32) float32 { return rapid.SampledFrom([]float32{0, v}).Draw(t, "penalty") }
	o := gpu.RowOpened{Row: id, Prompt: rapid.SliceOfN(token, 1, 14).Draw(t, "prompt"), Output: rapid.SampledFrom([][]int32{nil, {4}, {5, 5, 6}}).Draw(t, "output")}
	o.Sampling = gpu.Sampling{
		Temperature: maybe(1), TopP: 1, TopK: rapid.Int32Range(0, 3).Draw(t, "top_k"),
		FrequencyPenalty: maybe(0.5), PresencePenalty: maybe(-1), RepetitionPenalty: 1 + maybe(0.5),
		Seed: rapid.Uint64().Draw(t, "seed"), MinTokens: rapid.IntRange(0, 6).Draw(t, "min_tokens"),
		EndTokens: rapid.SliceOfN(token, 0, 2).Draw(t, "ends"), TopLogprobs: -1,
	}
	n := len(o.Prompt) + len(o.Output)
	o.Score = gpu.ScoreSpec{From: 1 + rapid.IntRange(0, 3).Draw(t, "from"), Top: rapid.IntRange(0, 2).Draw(t, "top")}
	o.Score.To = rapid.IntRange(0, n).Draw(t, "to")
	return o
}

// TestSequencesMatchTwin: whatever deltas come, the device gets what the rows'
// histories say.
func TestSequencesMatchTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twins := make([]*twin, small.Rows)
		table := New(program, small)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			b := &gpu.StepBatch{}
			if rapid.IntRange(0, 9).Draw(t, "reset") == 0 {
				b.Reset = true
				clear(twins)
			}
			var brings []int // tokens that each work samples
			for id := range twins {
				drawRow(t, gpu.Row(id), twins, b, 3)
			}
			for i := range b.Work {
				brings = append(brings, rapid.IntRange(min(1, b.Work[i].Sample), b.Work[i].Sample).Draw(t, "brings"))
				if isLate(b.Work[i]) {
					brings[i] = 0
				}
			}
			r, err := table.Run(b, func(all []Sequence) error {
				for i := range all {
					row := twins[b.Work[i].Row]
					if got, want := text(&all[i]), row.sequence(b.Work[i]); got != want {
						t.Fatalf("row %d\ngot  %s\nwant %s", b.Work[i].Row, got, want)
					}
					if draws := all[i].Draws(); draws != (brings[i] > 0) || all[i].Result.Late != isLate(b.Work[i]) {
						t.Fatalf("row %d draws: %t, is late: %t", b.Work[i].Row, draws, all[i].Result.Late)
					}
					for j := range brings[i] {
						all[i].Result.Tokens = append(all[i].Result.Tokens, next(row.tokens, j))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range b.Work {
				row, known := twins[w.Row], slices.Clone(twins[w.Row].tokens)
				row.computed = w.Start + w.Count + max(0, brings[i]-1)
				if isLate(w) {
					row.computed-- // its last token is computed again
				}
				for j := range brings[i] {
					row.tokens = append(row.tokens, next(known, j))
				}
				if !slices.Equal(r.Rows[i].Tokens, row.tokens[len(known):]) {
					t.Fatalf("row %d sampled %v, want %v", w.Row, r.Rows[i].Tokens, row.tokens[len(known):])
				}
			}
		}
	})
}

// drawRow adds a row's random part to a step, and the same to its twin. A work samples at
// most so many tokens.
func drawRow(t *rapid.T, id gpu.Row, twins []*twin, b *gpu.StepBatch, most int) {
	page := rapid.Int32Range(1, int32(small.Pages))
	if twins[id] != nil && rapid.IntRange(0, 5).Draw(t, "close") == 0 {
		b.Closed = append(b.Closed, id)
		twins[id] = nil
	}
	if twins[id] == nil {
		if rapid.Bool().Draw(t, "open") {
			return
		}
		o := drawOpened(t, id)
		r := &twin{opened: o, tokens: slices.Concat(o.Prompt, o.Output)}
		for len(o.Pages) < rapid.IntRange(0, (len(r.tokens)-1)/small.PageSize).Draw(t, "cached") {
			p := page.Draw(t, "page")
			o.Pages, r.pages = append(o.Pages, p), append(r.pages, p)
		}
		r.computed = len(o.Pages) * small.PageSize
		b.Opened = append(b.Opened, o)
		twins[id] = r
	}
	r := twins[id]
	if n := len(r.pages); n > 0 && rapid.IntRange(0, 3).Draw(t, "replace") == 0 {
		d := gpu.RowReplaced{Row: id, First: rapid.IntRange(0, n-1).Draw(t, "first")}
		for range rapid.IntRange(1, n-d.First).Draw(t, "replaced") {
			p := page.Draw(t, "page")
			r.pages[d.First+len(d.Pages)] = p
			d.Pages = append(d.Pages, p)
		}
		b.Replaced = append(b.Replaced, d)
	}
	left := min(len(r.tokens), small.Context-3) - r.computed
	if left < 1 || rapid.IntRange(0, 4).Draw(t, "rest") == 0 {
		return
	}
	count, samples := rapid.IntRange(1, left).Draw(t, "count"), 0
	end := r.computed + count
	var forced []int32
	if end == len(r.tokens) {
		samples = rapid.IntRange(0, most).Draw(t, "samples")
	}
	if samples > 0 && rapid.IntRange(0, 3).Draw(t, "certain") == 0 {
		forced = rapid.SliceOfN(rapid.Int32Range(0, int32(program.Vocab-1)), 0, max(0, small.Context-3-end)).Draw(t, "forced")
		end += len(forced)
	}
	g := gpu.RowGrown{Row: id}
	for len(r.pages)*small.PageSize < end+max(0, samples-1) {
		p := page.Draw(t, "page")
		g.Pages, r.pages = append(g.Pages, p), append(r.pages, p)
	}
	if len(g.Pages) > 0 {
		b.Grown = append(b.Grown, g)
	}
	w := gpu.RowWork{Row: id, Start: r.computed, Count: count + len(forced), Forced: forced, Sample: samples, KeepLogits: rapid.Bool().Draw(t, "keep")}
	if samples == 1 && rapid.Bool().Draw(t, "grammar") {
		w.Mask = notReady{}
		if most == 1 || rapid.IntRange(0, 3).Draw(t, "late") > 0 { // a row has no work while it is not known whether it is late
			w.Mask = gpu.Allow([]uint32{rapid.Uint32().Draw(t, "allowed"), 0})
		}
	}
	b.Work = append(b.Work, w)
}
