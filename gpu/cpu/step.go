package cpu

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// outputTile is how many outputs the ops after Gather take at a time, which
// bounds the memory of logits: 64 x vocabulary x 4 bytes.
const outputTile = 64

// step is the state of the current step. It is reused, so that a step allocates
// only what Logprobs, Scores and Logits point to.
type step struct {
	*model
	sequences []rows.Sequence

	// Per row of the per-token buffers, in order of the batch.
	tokens []int32
	pos    []int32
	slots  []int32
	tiles  []queryTile

	// How attention is cut into units; partial and missing belong to splits.
	spans   []kvSpan
	splits  []kvSplit
	partial []float32
	missing []atomic.Int32

	outputs []output
	first   int // first output of the current tile
	tile    int // outputs in it

	stage   stage       // the current one
	at      int         // its index among all stages
	buffers [][]float32 // per Program.Buffers

	// For waiting workers, by index of a stage: see lookAheads.
	products, next []*lookahead
}

// output is a token whose logits are wanted.
type output struct {
	seq, row int
	keep     int // index into Logits, -1: not kept
	score    int // index into Scores, -1: not scored
	sample   bool
}

// prepare lays out the sequences of a step.
func (s *step) prepare(sequences []rows.Sequence) {
	s.sequences = sequences
	s.tokens, s.pos, s.slots = s.tokens[:0], s.pos[:0], s.slots[:0]
	s.tiles, s.outputs = s.tiles[:0], s.outputs[:0]
	for i := range sequences {
		q := &sequences[i]
		for at := 0; at < len(q.Tokens); at += s.queryTile {
			s.tiles = append(s.tiles, queryTile{i, len(s.tokens) + at, min(s.queryTile, len(q.Tokens)-at)})
		}
		s.wanted(i, q)
		s.tokens = append(s.tokens, q.Tokens...)
		for j := range q.Tokens {
			s.pos = append(s.pos, int32(q.Start+j))
			s.slots = append(s.slots, int32(s.pool.slot(q.Pages, q.Start+j)))
		}
	}
	if s.queryGroup > 0 {
		s.planSplits(s.program.KV.Heads, s.queryGroup, attn.AccWidth(s.program.KV.HeadDim))
	}
	s.tile = min(len(s.outputs), outputTile)
	for i := range s.buffers {
		s.buffers[i] = grow(s.buffers[i], s.rows(gpu.Buffer(i))*s.stride(gpu.Buffer(i)))
	}
	for _, a := range s.inputs {
		a.grow(s.rows(a.buffer))
	}
	for _, r := range s.ropes {
		r.table = grow(r.table, len(s.tokens)*2*len(r.invFreq))
	}
}

// wanted lists the outputs of a sequence and makes room for its results.
func (s *step) wanted(i int, q *rows.Sequence) {
	r := q.Result
	from, to := 0, 0 // scored tokens, by index
	if n := len(q.Score.Targets); n > 0 {
		from, to = q.Score.From-q.Start, q.Score.From-q.Start+n
		r.Scores = make([]gpu.Logprobs, n)
	}
	if q.KeepLogits {
		r.Logits = make([][]float32, len(q.Tokens))
		flat := make([]float32, len(q.Tokens)*s.program.Vocab)
		for j := range r.Logits {
			r.Logits[j] = flat[j*s.program.Vocab : (j+1)*s.program.Vocab : (j+1)*s.program.Vocab]
		}
	}
	for j := range q.Tokens {
		o := output{seq: i, row: len(s.tokens) + j, keep: -1, score: -1}
		if q.KeepLogits {
			o.keep = j
		}
		if j >= from && j < to {
			o.score = j - from
		}
		o.sample = q.Sample != nil && j == len(q.Tokens)-1
		if o.keep >= 0 || o.score >= 0 || o.sample {
			s.outputs = append(s.outputs, o)
		}
	}
}

// grow returns x with length n. Old contents are lost if x is too small.
func grow[T any](x []T, n int) []T {
	if n > cap(x) {
		return make([]T, n, n+n/4)
	}
	return x[:n]
}

// open implements work: all stages before the first Gather, then those from
// Gather on for each tile of outputs.
func (s *step) open(i int) (int, bool) {
	if s.at = i; i < len(s.body) {
		s.stage = s.body[i]
		return s.units(), true
	}
	i -= len(s.body)
	s.first = i / len(s.tail) * outputTile
	s.tile = min(len(s.outputs)-s.first, outputTile)
	if s.tile <= 0 {
		return 0, false
	}
	i %= len(s.tail)
	s.at, s.stage = len(s.body)+i, s.tail[i]
	return s.units(), true
}

// units prepares the current stage.
func (s *step) units() int {
	n := s.stage.units(s)
	if a := s.products[s.at]; a != nil {
		a.store()
	}
	return n
}

// unit implements work.
func (s *step) unit(worker, unit int) error {
	w := s.scratch[worker]
	w.at = s.at
	return s.stage.run(s, w, unit)
}

// rows is how many rows a buffer has now.
func (s *step) rows(b gpu.Buffer) int {
	if s.program.Buffers[b].PerOutput {
		return s.tile
	}
	return len(s.tokens)
}

// stride is the elements from a row of a buffer to the next: panels write runs of 32.
func (s *step) stride(b gpu.Buffer) int {
	return layout.Panels(s.program.Buffers[b].Width) * layout.PanelRows
}

func (s *step) row(b gpu.Buffer, i int) []float32 {
	at, w := i*s.stride(b), s.program.Buffers[b].Width
	return s.buffers[b][at : at+w : at+w]
}

func (s *step) run(sequences []rows.Sequence) error {
	s.prepare(sequences)
	helpers := 0
	if s.cost() >= worthHelpers[s.level] {
		helpers = len(s.workers.helpers)
	}
	err := s.workers.run(s, helpers)
	s.sequences = nil
	if err != nil {
		return fmt.Errorf("cannot compute %d sequences: %w", len(sequences), err)
	}
	return nil
}

// worthHelpers is the number of multiplications from which waking helpers pays:
// about 100 microseconds of one worker.
var worthHelpers = [...]int{simd.Portable: 300_000, simd.AVX2: 1_500_000, simd.AVX512: 2_000_000, simd.AMX: 2_000_000}

// cost is the number of multiplications by weights.
func (s *step) cost() int {
	return len(s.tokens)*s.bodyCost + len(s.outputs)*s.tailCost
}

// bytes is what the buffers hold.
func (s *step) bytes() int64 {
	n := size(s.buffers...) + size(s.partial) + size(s.missing) + size(s.spans) + size(s.splits) +
		size(s.tokens, s.pos, s.slots) + size(s.tiles) + size(s.outputs)
	for _, r := range s.ropes {
		n += size(r.table)
	}
	for _, a := range s.inputs {
		n += size(a.tiles) + size(a.quantised)
	}
	return n
}

// size is the memory of slices in bytes.
func size[T any](all ...[]T) (n int64) {
	for _, s := range all {
		n += int64(cap(s)) * int64(unsafe.Sizeof(*new(T)))
	}
	return n
}

// span is part i of [0, n) cut into parts.
func span(n, parts, i int) (lo, hi int) { return n * i / parts, n * (i + 1) / parts }
