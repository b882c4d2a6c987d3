package exec_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// twin is a row as the deltas describe it, without any state that could go
// stale: everything is counted from the tokens each time.
type twin struct {
	req      *messages.EngineRequest
	tokens   []int32
	pages    []int32
	computed int
}

// sequence is what the device must get for a row's work.
func (r *twin) sequence(w messages.RowWork) gpu.Sequence {
	p := r.req.Params
	s := gpu.Sequence{Pages: r.pages, Tokens: r.tokens[w.Start : w.Start+w.Count], Start: w.Start}
	if p.PromptLogprobs >= 0 && len(r.req.Output) == 0 {
		var targets []int32
		from := -1
		for at := w.Start; at < w.Start+w.Count; at++ { // the logits of at speak of at+1
			if at+1 >= p.PromptLogprobStart && at+1 < len(r.req.Prompt) {
				if from < 0 {
					from = at
				}
				targets = append(targets, r.req.Prompt[at+1])
			}
		}
		if from >= 0 {
			s.Score = &gpu.ScoreSpec{From: from, Targets: targets, Top: p.PromptLogprobs}
		}
	}
	if !w.Sample {
		return s
	}
	sample := &gpu.SampleSpec{Temperature: p.Temperature, TopP: p.TopP, MinP: p.MinP, TopK: p.TopK,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		Seed: p.Seed, Choice: p.Choice, Position: w.Start + w.Count, TopLogprobs: p.TopLogprobs}
	output := r.tokens[len(r.req.Prompt):]
	if len(output) < p.MinTokens {
		if !p.IgnoreEOS {
			sample.Mask = append(sample.Mask, p.EOSTokenIDs...)
		}
		sample.Mask = append(sample.Mask, p.StopTokenIDs...)
	}
	if p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || p.RepetitionPenalty != 1 {
		for token := range int32(small.Vocab) {
			c := gpu.TokenCount{Token: token, InPrompt: p.RepetitionPenalty != 1 && slices.Contains(r.req.Prompt, token)}
			for _, o := range output {
				if o == token {
					c.Output++
				}
			}
			if c.InPrompt || c.Output > 0 {
				sample.History = append(sample.History, c)
			}
		}
	}
	for _, b := range p.LogitBias {
		sample.Bias = append(sample.Bias, gpu.TokenBias{Token: b.Token, Bias: b.Bias})
	}
	s.Sample = sample
	return s
}

// normal brings a sequence to one form: order of the history and nil or empty
// do not matter.
func normal(s gpu.Sequence) string {
	text := fmt.Sprint(s.Pages, s.Tokens, s.Start, s.KeepLogits)
	if s.Score != nil {
		text += fmt.Sprintf(" score %+v", *s.Score)
	}
	if s.Sample != nil {
		c := *s.Sample
		c.History = slices.Clone(c.History)
		slices.SortFunc(c.History, func(a, b gpu.TokenCount) int { return int(a.Token - b.Token) })
		text += fmt.Sprintf(" sample %+v", c)
	}
	return text
}

// next is the fake device's draw.
func next(tokens []int32) int32 {
	h := uint32(7)
	for _, t := range tokens {
		h = h*31 + uint32(t)
	}
	return int32(h>>3) % int32(small.Vocab)
}

func drawParams(t *rapid.T) *messages.SamplingParams {
	token := rapid.Int32Range(0, int32(small.Vocab-1))
	maybe := func(v float32) float32 { return rapid.SampledFrom([]float32{0, v}).Draw(t, "penalty") }
	return &messages.SamplingParams{
		Temperature: maybe(1), TopP: 1, TopK: rapid.Int32Range(0, 3).Draw(t, "top_k"),
		FrequencyPenalty: maybe(0.5), PresencePenalty: maybe(-1), RepetitionPenalty: 1 + maybe(0.5),
		Seed: rapid.Uint64().Draw(t, "seed"), Choice: rapid.Uint32Range(0, 2).Draw(t, "choice"),
		MinTokens:    rapid.IntRange(0, 6).Draw(t, "min_tokens"),
		StopTokenIDs: rapid.SliceOfN(token, 0, 2).Draw(t, "stop"), EOSTokenIDs: rapid.SliceOfN(token, 0, 2).Draw(t, "eos"),
		IgnoreEOS:      rapid.Bool().Draw(t, "ignore_eos"),
		LogitBias:      rapid.SampledFrom([][]messages.TokenBias{nil, {{Token: 2, Bias: 5}}}).Draw(t, "bias"),
		TopLogprobs:    rapid.IntRange(-1, 1).Draw(t, "top_logprobs"),
		PromptLogprobs: rapid.IntRange(-1, 2).Draw(t, "prompt_logprobs"), PromptLogprobStart: rapid.IntRange(0, 12).Draw(t, "start"),
	}
}

// TestStepsMatchTwin: whatever deltas come, the device gets what the rows'
// histories say.
func TestStepsMatchTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]*twin, small.MaxRows)
		var work []messages.RowWork
		m := &recorder{}
		m.answer = func(b *gpu.StepBatch) (*gpu.StepResult, error) {
			r, _ := constant(0)(b)
			for i, s := range b.Sequences {
				row := rows[work[i].Row]
				if got, want := normal(s), normal(row.sequence(work[i])); got != want {
					t.Fatalf("row %d\ngot  %s\nwant %s", work[i].Row, got, want)
				}
				if s.Sample != nil {
					r.Sequences[i].Token = next(row.tokens)
				}
			}
			return r, nil
		}
		e := exec.New(m, small)
		number := messages.StepID(0)
		ids := rapid.SliceOfN(rapid.Int32Range(0, int32(small.Vocab-1)), 1, 14)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			b := &messages.RunBatch{Header: messages.Header{Epoch: 1}}
			work = nil
			for id := range rows {
				drawRow(t, messages.Row(id), rows, b, ids)
			}
			if work = b.Work; len(work) == 0 {
				// What was drawn is lost, and so the rows start over.
				e.Reset()
				clear(rows)
				number = 0
				continue
			}
			number++
			b.Step = number
			var done *messages.BatchDone
			e.Submit(b, func(d *messages.BatchDone, err error) {
				if err != nil {
					t.Fatal(err)
				}
				done = d
			})
			var want []messages.SampledToken
			for _, w := range work {
				r := rows[w.Row]
				r.computed = w.Start + w.Count
				if w.Sample {
					want = append(want, messages.SampledToken{Row: w.Row, Token: next(r.tokens)})
					r.tokens = append(r.tokens, next(r.tokens))
				}
			}
			if !slices.Equal(done.Sampled, want) || done.Step != number {
				t.Fatalf("sampled %+v, want %+v", done.Sampled, want)
			}
		}
	})
}

// drawRow adds a row's random part to a step, and the same to its twin.
func drawRow(t *rapid.T, id messages.Row, rows []*twin, b *messages.RunBatch, ids *rapid.Generator[[]int32]) {
	page := rapid.Int32Range(1, int32(small.Pages))
	if rows[id] != nil && rapid.IntRange(0, 5).Draw(t, "close") == 0 {
		b.Closed = append(b.Closed, id)
		rows[id] = nil
	}
	if rows[id] == nil {
		if rapid.Bool().Draw(t, "open") {
			return
		}
		req := &messages.EngineRequest{Prompt: ids.Draw(t, "prompt"), Params: drawParams(t)}
		output := rapid.SampledFrom([][]int32{nil, {4}, {5, 5, 6}}).Draw(t, "output")
		req.Output = output[:rapid.IntRange(0, len(output)).Draw(t, "submitted")]
		r := &twin{req: req, tokens: slices.Concat(req.Prompt, output)}
		o := messages.RowOpened{Row: id, Request: req, Output: output}
		for len(o.Pages) < rapid.IntRange(0, (len(r.tokens)-1)/small.PageSize).Draw(t, "cached") {
			p := page.Draw(t, "page")
			o.Pages, r.pages = append(o.Pages, messages.Page(p)), append(r.pages, p)
		}
		r.computed = len(o.Pages) * small.PageSize
		b.Opened = append(b.Opened, o)
		rows[id] = r
	}
	r := rows[id]
	if n := len(r.pages); n > 0 && rapid.IntRange(0, 3).Draw(t, "replace") == 0 {
		d := messages.RowReplaced{Row: id, First: rapid.IntRange(0, n-1).Draw(t, "first")}
		for range rapid.IntRange(1, n-d.First).Draw(t, "replaced") {
			p := page.Draw(t, "page")
			r.pages[d.First+len(d.Pages)] = p
			d.Pages = append(d.Pages, messages.Page(p))
		}
		b.Replaced = append(b.Replaced, d)
	}
	left := min(len(r.tokens), small.Context) - r.computed
	if left < 1 || rapid.IntRange(0, 4).Draw(t, "rest") == 0 {
		return
	}
	count := rapid.IntRange(1, left).Draw(t, "count")
	g := messages.RowGrown{Row: id}
	for len(r.pages)*small.PageSize < r.computed+count {
		p := page.Draw(t, "page")
		g.Pages, r.pages = append(g.Pages, messages.Page(p)), append(r.pages, p)
	}
	if len(g.Pages) > 0 {
		b.Grown = append(b.Grown, g)
	}
	end := r.computed + count
	b.Work = append(b.Work, messages.RowWork{Row: id, Start: r.computed, Count: count, Sample: end == len(r.tokens) && rapid.Bool().Draw(t, "sample")})
}
