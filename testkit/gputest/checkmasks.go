package gputest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// checkMasks draws a sequence under masks, one token a step, and then the same tokens with
// masks that come late, and with tokens that are certain: logits and tokens must be the same.
func checkMasks(d gpu.Device) error {
	p, w := Build(Shapes()[1], 21)
	m, err := Load(d, p, w, Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 40, DType: d.Info().KV[0]}))
	if err != nil {
		return err
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(21, 4))
	c := masked{m: m, prompt: randomTokens(r, p.Vocab, 9)}
	for range 8 {
		bits := make([]uint32, (p.Vocab+31)/32)
		for i := range bits {
			bits[i] = r.Uint32() & r.Uint32()
		}
		bits[0] |= 2
		c.masks = append(c.masks, bits)
	}
	if c.tokens, c.logits, err = c.draw(nil, nil); err != nil {
		return err
	}
	for i, token := range c.tokens {
		if c.masks[i][token/32]>>(token%32)&1 == 0 {
			return fmt.Errorf("token %d was sampled, which the mask does not allow", token)
		}
	}
	for what, ways := range map[string][2][]int{
		"masks that come late":                   {{0, 3, 4}, nil},
		"tokens that are certain":                {nil, {1, 2, 3, 6}},
		"late masks after tokens that are known": {{4, 7}, {1, 2, 3, 6}},
	} {
		tokens, logits, err := c.draw(ways[0], ways[1])
		if err == nil && !slices.Equal(tokens, c.tokens) {
			err = fmt.Errorf("sampled %v, want %v", tokens, c.tokens)
		}
		if err == nil {
			err = Same(logits, c.logits)
		}
		if err != nil {
			return fmt.Errorf("with %s: %w", what, err)
		}
	}
	if err := c.besideAnother(); err != nil {
		return fmt.Errorf("late beside a step that was submitted meanwhile: %w", err)
	}
	return c.fails()
}

// late is a mask that is not ready, faulty one that cannot be made.
type (
	late   struct{}
	faulty struct{ err error }
)

// Bits implements gpu.Mask.
func (late) Bits() (bits []uint32, err error, ready bool) { return nil, nil, false }

// Bits implements gpu.Mask.
func (f faulty) Bits() (bits []uint32, err error, ready bool) { return nil, f.err, true }

// masked is a sequence whose next tokens have masks.
type masked struct {
	m      gpu.Model
	prompt []int32
	masks  [][]uint32 // of each token
	tokens []int32    // what is sampled one by one
	logits [][]float32
}

// sampling depends on what was sampled before.
func (c *masked) sampling() gpu.Sampling {
	s := Plain()
	s.Temperature, s.Seed, s.FrequencyPenalty, s.RepetitionPenalty, s.TopLogprobs = 0.9, 3, 0.5, 1.2, 2
	return s
}

// draw samples a token for every mask, beside a row without masks. The masks of some tokens are
// late at first; some tokens are certain.
func (c *masked) draw(delayed, certain []int) (tokens []int32, logits [][]float32, err error) {
	pages := func(from int32, n int) (list []int32) {
		for i := range n {
			list = append(list, from+int32(i))
		}
		return list
	}
	row := Part{Open: &gpu.RowOpened{Prompt: c.prompt, Sampling: c.sampling()}, Grow: pages(1, 5), RowWork: gpu.RowWork{Count: len(c.prompt), KeepLogits: true}}
	mate := Whole(c.prompt, pages(20, 8))
	first := true
	for len(tokens) < len(c.masks) {
		for slices.Contains(certain, len(tokens)+len(row.Forced)) {
			row.Forced = append(row.Forced, c.tokens[len(tokens)+len(row.Forced)])
		}
		tokens = append(tokens, row.Forced...)
		row.Count += len(row.Forced)
		row.Sample, row.Mask, mate.Sample = 1, gpu.Allow(c.masks[len(tokens)]), 1
		isLate := slices.Contains(delayed, len(tokens))
		if isLate {
			delayed = slices.DeleteFunc(slices.Clone(delayed), func(i int) bool { return i == len(tokens) })
			row.Mask = late{}
		}
		mate.Row = 1
		b := Batch(row, mate)
		b.Reset, first = first, false
		got, err := Run(c.m, b)
		if err != nil {
			return nil, nil, err
		}
		if len(got[1].Tokens) != 1 || got[1].Late {
			return nil, nil, fmt.Errorf("the row beside it got %+v", got[1])
		}
		end := row.Start + row.Count
		mate = Part{RowWork: gpu.RowWork{Start: mate.Start + mate.Count, Count: 1}}
		row = Part{RowWork: gpu.RowWork{Start: end, Count: 1, KeepLogits: true}}
		logits = append(logits, got[0].Logits...)
		if got[0].Late != isLate || got[0].Err != nil || isLate && (len(got[0].Tokens) > 0 || len(got[0].Logprobs) > 0) || !isLate && (len(got[0].Tokens) != 1 || len(got[0].Logprobs) != 1) {
			return nil, nil, fmt.Errorf("token %d, late %t: got %+v", len(tokens), isLate, got[0])
		}
		if isLate {
			row.Start-- // its last token again
			logits = logits[:len(logits)-1]
			continue
		}
		tokens = append(tokens, got[0].Tokens...)
	}
	return tokens, logits, nil
}

// besideAnother: a row is late in a step behind which one without it was submitted.
func (c *masked) besideAnother() error {
	row := Part{Open: &gpu.RowOpened{Prompt: c.prompt, Sampling: c.sampling()}, Grow: []int32{1, 2, 3}, RowWork: gpu.RowWork{Count: len(c.prompt), Sample: 1, Mask: late{}}}
	mate := Whole(c.prompt, []int32{20, 21, 22})
	mate.Row, mate.Sample = 1, 1
	first := Batch(row, mate)
	first.Reset = true
	n := len(c.prompt)
	again := Part{RowWork: gpu.RowWork{Start: n - 1, Count: 1, Sample: 1, Mask: gpu.Allow(c.masks[0])}}
	next := func(start int) Part { return Part{RowWork: gpu.RowWork{Row: 1, Start: start, Count: 1, Sample: 1}} }
	steps := []<-chan ended{submit(c.m, first), submit(c.m, Batch(next(n)))}
	one := <-steps[0]
	steps = append(steps, submit(c.m, Batch(again, next(n+1))))
	two, three := <-steps[1], <-steps[2]
	if err := errors.Join(one.err, two.err, three.err); err != nil {
		return err
	}
	if !one.rows[0].Late || !slices.Equal(three.rows[0].Tokens, c.tokens[:1]) || len(three.rows[1].Tokens) != 1 {
		return fmt.Errorf("it got %+v, and then %+v; want the token %d", one.rows[0], three.rows, c.tokens[0])
	}
	return nil
}

// fails: a mask that cannot be made ends its row, and no other.
func (c *masked) fails() error {
	broken := errors.New("the mask cannot be made")
	row, mate := Whole(c.prompt, []int32{1, 2, 3}), Whole(c.prompt, []int32{20, 21, 22})
	row.Sample, row.Mask, mate.Sample = 1, faulty{broken}, 1
	got, err := Fresh(c.m, row, mate)
	if err != nil {
		return err
	}
	if !errors.Is(got[0].Err, broken) || got[0].Late || len(got[0].Tokens) > 0 || got[1].Err != nil || len(got[1].Tokens) != 1 {
		return fmt.Errorf("a mask that cannot be made gives %+v, and %+v beside it", got[0], got[1])
	}
	return nil
}
