//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// output is a token whose logits are wanted.
type output struct {
	sequence, token int // token: index among the step's
	keep            int // index into Logits; -1: not kept
	scored          int // index into Score.Targets; -1: not scored
	sampled         bool
}

// tile is up to outputTile outputs, which go through the ops after Gather together.
type tile struct {
	first, outputs  int // of the step's outputs
	samples, scores int // numbers of them
	firstSample     int
	firstScore      int // among the specs of scores
	firstResult     int // among the results of scores: those of scores, then those of samples
	results         int
}

// step is the state of a step. It is reused, so that a step allocates only what Logprobs,
// Scores and Logits point to.
type step struct {
	model     *model
	in, out   exchange // what is uploaded, and what comes back
	kept      exchange // logits that are wanted: only the host's part
	computed  *driver.Event
	sequences []rows.Sequence
	err       error        // why the device does not have all of the step
	starts    func() error // start and take, made once
	takes     func() error

	tokenID, tokenPosition, tokenRow, outputToken []int32
	outputs                                       []output
	tiles                                         []tile
	samples                                       []sampleSpec
	scores                                        []scoreSpec
	history                                       []tokenCount
	bias                                          []tokenBias
	masked                                        []int32
	allowed                                       []uint32
	writes                                        []pageWrite
	head                                          []stepHeader
	results, top, keeps                           int
	alone, prompt                                 bool // there is a sequence with one token; with several
}

// reserve takes what a step needs besides the memory of its data.
func (s *step) reserve() (err error) {
	s.computed, err = s.model.device.NewEvent(driver.EventOptions{Sleep: true})
	return err
}

func (s *step) free() error {
	err := errors.Join(s.computed.Close(), s.in.free(), s.out.free(), s.kept.free())
	s.computed = nil
	return err
}

func (s *step) bytes(all map[string]int64) {
	all["workspace"] += s.in.deviceBytes() + s.out.deviceBytes()
}

// start gives the device all of a step.
func (s *step) start() error {
	s.prepare()
	if err := s.upload(); err != nil {
		return err
	}
	m := s.model
	var err error
	if rows := s.graphRows(); rows > 0 {
		err = m.graphs.launch(s, rows)
	} else {
		err = s.compute()
	}
	if err != nil {
		return err
	}
	if err := s.out.download(m.stream); err != nil {
		return err
	}
	return m.stream.Record(s.computed)
}

// body launches the kernels before those of tiles, for at most some tokens.
func (s *step) body(tokens int) error {
	for i := range s.model.body {
		if err := s.launch(&s.model.body[i], tokens); err != nil {
			return err
		}
	}
	return nil
}

// compute launches the kernels one by one.
func (s *step) compute() error {
	if err := s.body(len(s.tokenID)); err != nil {
		return err
	}
	kept := int64(0)
	for i := range s.tiles {
		t := &s.tiles[i]
		if err := s.tail(i, t.outputs, t.samples, t.scores+t.samples); err != nil {
			return err
		}
		var err error
		if kept, err = s.keep(t, kept); err != nil {
			return err
		}
	}
	return nil
}

// tail launches the kernels of a tile, for at most some outputs, samples and scores.
func (s *step) tail(tile, outputs, samples, scores int) error {
	m := s.model
	for j := range m.tails[tile] {
		if err := s.launch(&m.tails[tile][j], outputs); err != nil {
			return err
		}
	}
	if err := s.launch(&m.draws[tile][0], samples); err != nil {
		return err
	}
	return s.launch(&m.draws[tile][1], scores)
}

// keep copies the logits of a tile that are wanted, before the next tile overwrites them.
// at is where in the host's memory the next go.
func (s *step) keep(t *tile, at int64) (int64, error) {
	m := s.model
	row := int64(m.program.Vocab) * 4
	logits := m.program.Ops[len(m.program.Ops)-1].(gpu.Sample).Logits
	for i := range t.outputs {
		if s.outputs[t.first+i].keep < 0 {
			continue
		}
		if err := m.stream.Download(s.kept.host, at, m.pool.buffers, m.pool.at[logits]+int64(i)*row, row); err != nil {
			return at, err
		}
		at += row
	}
	return at, nil
}

// take fills in the results of the sequences.
func (s *step) take() error {
	vocab := s.model.program.Vocab
	samples := valuesOf[sampleResult](s.out.bytes(), 0, len(s.samples))
	results := valuesOf[scoreResult](s.out.bytes(), s.out.at(1), s.results)
	top := valuesOf[topEntry](s.out.bytes(), s.out.at(2), s.top)
	kept := valuesOf[float32](s.kept.bytes(), 0, s.keeps*vocab)
	for i := range s.tiles {
		t := &s.tiles[i]
		sample, score := t.firstSample, t.firstScore
		for _, o := range s.outputs[t.first : t.first+t.outputs] {
			q := &s.sequences[o.sequence]
			r := q.Result
			if o.keep >= 0 {
				r.Logits[o.keep] = append([]float32(nil), kept[:vocab]...)
				kept = kept[vocab:]
			}
			if o.scored >= 0 {
				spec := s.scores[score]
				r.Scores[o.scored] = logprobs(results[t.firstResult+score-t.firstScore], top[spec.topAt:spec.topAt+spec.top])
				score++
			}
			if !o.sampled {
				continue
			}
			spec, got := &s.samples[sample], samples[sample]
			sample++
			switch got.status {
			case statusNothing:
				r.Err = gpu.ErrNothingToSample
				continue
			case statusNaN:
				return fmt.Errorf("row %d: the logit of token %d is not a number: a weight, K or V is too large for its 16-bit type. "+
					"Use --kv-cache-dtype f32, or --device cpu --weight-dtype f32. If that does not help, the model file is damaged: download it again", q.Row, got.nanToken)
			}
			r.Tokens = append(r.Tokens, got.token)
			if spec.score >= 0 {
				r.Logprobs = append(r.Logprobs, logprobs(results[t.firstResult+int(spec.score)], top[spec.topAt:spec.topAt+spec.top]))
			}
		}
	}
	return nil
}

// logprobs copies a result.
func logprobs(chosen scoreResult, top []topEntry) gpu.Logprobs {
	l := gpu.Logprobs{Chosen: gpu.TokenLogprob{Token: chosen.token, Logprob: chosen.logprob}}
	for _, t := range top {
		l.Top = append(l.Top, gpu.TokenLogprob{Token: t.token, Logprob: t.logprob})
	}
	return l
}
