package ref

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// token is one row of the per-token buffers.
type token struct {
	id       int32
	position int
	seq      int // index into the step
}

// step is one run of the program.
type step struct {
	*model
	sequences []rows.Sequence
	tokens    []token
	outputs   []int // rows of tokens whose logits are wanted, ascending
	buffers   [][]float32
}

// newStep makes the rows: all tokens in order of the sequences. A token is an output if
// its logits are kept, scored or sampled from.
func newStep(m *model, sequences []rows.Sequence) *step {
	s := &step{model: m, sequences: sequences}
	for i, q := range sequences {
		for j, id := range q.Tokens {
			pos := q.Start + j
			last := j == len(q.Tokens)-1
			scored := pos >= q.Score.From && pos < q.Score.From+len(q.Score.Targets)
			if q.KeepLogits || scored || last && q.Sample != nil {
				s.outputs = append(s.outputs, len(s.tokens))
			}
			s.tokens = append(s.tokens, token{id, pos, i})
		}
	}
	for _, b := range m.program.Buffers {
		rows := len(s.tokens)
		if b.PerOutput {
			rows = len(s.outputs)
		}
		s.buffers = append(s.buffers, make([]float32, rows*b.Width))
	}
	return s
}

func (s *step) row(b gpu.Buffer, i int) []float32 {
	w := s.program.Buffers[b].Width
	return s.buffers[b][i*w : (i+1)*w]
}

func (s *step) rows(b gpu.Buffer) int { return len(s.buffers[b]) / s.program.Buffers[b].Width }

// slot is the index of a position of a sequence in the pool.
func (s *step) slot(seq, position int) int {
	page := s.sequences[seq].Pages[position/s.pool.PageSize]
	return int(page)*s.pool.PageSize + position%s.pool.PageSize
}

// has reports whether run implements an op.
func has(op gpu.Op) bool {
	switch op.(type) {
	case gpu.Embed, gpu.RMSNorm, gpu.Linear, gpu.Rope, gpu.StoreKV, gpu.Attention, gpu.SiluMul, gpu.Gather, gpu.Sample:
		return true
	}
	return false
}

func (s *step) run() error {
	for _, op := range s.program.Ops {
		switch op := op.(type) {
		case gpu.Embed:
			s.embed(op)
		case gpu.RMSNorm:
			s.rmsNorm(op)
		case gpu.Linear:
			s.linear(op)
		case gpu.Rope:
			s.rope(op)
		case gpu.StoreKV:
			s.storeKV(op)
		case gpu.Attention:
			s.attention(op)
		case gpu.SiluMul:
			s.siluMul(op)
		case gpu.Gather:
			for o, t := range s.outputs {
				copy(s.row(op.Out, o), s.row(op.In, t))
			}
		case gpu.Sample:
			if err := s.sample(op); err != nil {
				return err
			}
		default:
			panic(fmt.Sprintf("ref: has lists %T, which run does not implement", op))
		}
	}
	return nil
}
