package gpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
)

// Check returns an error unless a program is well formed: indexes exist, shapes agree,
// buffers are written before they are read, ops per token come before the first Gather
// and ops per output after it, and Sample is the last op.
func (p *Program) Check() error {
	if err := p.check(); err != nil {
		return fmt.Errorf("bug: program %s: %w; please report this", p.Name, err)
	}
	return nil
}

func (p *Program) check() error {
	if p.Vocab < 1 || p.Context < 1 {
		return fmt.Errorf("the vocabulary is %d and the context %d; both must be at least 1", p.Vocab, p.Context)
	}
	if k := p.KV; k.Layers < 0 || k.Layers > 0 && (k.Heads < 1 || k.HeadDim < 1) {
		return fmt.Errorf("a KV cache of %d layers with %d heads of %d elements is not valid", k.Layers, k.Heads, k.HeadDim)
	}
	for _, b := range p.Buffers {
		if b.Width < 1 {
			return fmt.Errorf("buffer %s has width %d; it must be at least 1", b.Name, b.Width)
		}
	}
	if len(p.Ops) == 0 {
		return errors.New("it has no ops")
	}
	c := checker{p: p, written: make([]bool, len(p.Buffers))}
	for i, op := range p.Ops {
		if err := c.op(op, i == len(p.Ops)-1); err != nil {
			return fmt.Errorf("op %d, %T: %w", i, op, err)
		}
	}
	return nil
}

// checker walks the ops of a program.
type checker struct {
	p       *Program
	written []bool // per buffer: an op before this one wrote it
	tail    bool   // after the first Gather
}

func (c *checker) op(op Op, last bool) error {
	if _, is := op.(Sample); is != last {
		return errors.New("Sample must be the last op and the only one of its kind")
	}
	if c.tail {
		switch op.(type) {
		case Embed, Rope, StoreKV, Attention:
			return errors.New("must come before the first Gather, because it runs per token")
		}
	}
	switch op := op.(type) {
	case Embed:
		return errors.Join(c.writes(op.Out, false), c.weight(op.Table, c.p.Vocab, c.width(op.Out)))
	case RMSNorm:
		if op.Group < 1 || c.width(op.In)%op.Group != 0 {
			return fmt.Errorf("width %d is not a multiple of the group size %d", c.width(op.In), op.Group)
		}
		return errors.Join(c.reads(op.In, c.tail), c.writes(op.Out, c.tail), c.equal(op.In, op.Out), c.weight(op.Gain, op.Group))
	case Linear:
		return c.linear(op)
	case Rope:
		if n := 2 * len(op.InvFreq); op.HeadDim < 1 || n > op.HeadDim || c.width(op.X)%op.HeadDim != 0 {
			return fmt.Errorf("heads of %d with %d frequencies do not match width %d", op.HeadDim, len(op.InvFreq), c.width(op.X))
		}
		return c.reads(op.X, false)
	case StoreKV:
		return errors.Join(c.layer(op.Layer), c.reads(op.K, false), c.reads(op.V, false),
			c.wide(op.K, c.p.KV.Heads*c.p.KV.HeadDim), c.wide(op.V, c.p.KV.Heads*c.p.KV.HeadDim))
	case Attention:
		if op.Q == op.Out {
			return errors.New("the buffers Q and Out must be different")
		}
		if h := c.p.KV.Heads; op.Heads < 1 || h < 1 || op.Heads%h != 0 {
			return fmt.Errorf("%d query heads are not a multiple of %d KV heads", op.Heads, h)
		}
		return errors.Join(c.layer(op.Layer), c.reads(op.Q, false), c.writes(op.Out, false),
			c.wide(op.Q, op.Heads*c.p.KV.HeadDim), c.wide(op.Out, op.Heads*c.p.KV.HeadDim))
	case SiluMul:
		return errors.Join(c.reads(op.Gate, c.tail), c.reads(op.Up, c.tail), c.writes(op.Out, c.tail),
			c.equal(op.Gate, op.Up), c.equal(op.Gate, op.Out))
	case Gather:
		c.tail = true
		return errors.Join(c.reads(op.In, false), c.writes(op.Out, true), c.equal(op.In, op.Out))
	case Sample:
		return errors.Join(c.reads(op.Logits, true), c.wide(op.Logits, c.p.Vocab))
	}
	return errors.New("unknown op")
}

func (c *checker) linear(op Linear) error {
	if op.In == op.Out {
		return errors.New("the buffers In and Out must be different")
	}
	err := c.reads(op.In, c.tail)
	if op.Accumulate {
		err = errors.Join(err, c.reads(op.Out, c.tail))
	}
	err = errors.Join(err, c.writes(op.Out, c.tail), c.weight(op.W, c.width(op.Out), c.width(op.In)))
	if op.Bias != NoWeight {
		err = errors.Join(err, c.weight(op.Bias, c.width(op.Out)))
	}
	return err
}

// width is 0 for a buffer that does not exist, for which reads or writes return an error.
func (c *checker) width(b Buffer) int {
	if b < 0 || int(b) >= len(c.p.Buffers) {
		return 0
	}
	return c.p.Buffers[b].Width
}

func (c *checker) buffer(b Buffer, perOutput bool) error {
	if c.width(b) == 0 {
		return fmt.Errorf("buffer %d does not exist", b)
	}
	s := c.p.Buffers[b]
	if s.PerOutput != perOutput {
		return fmt.Errorf("buffer %s: PerOutput is %v; it must be %v (false before the first Gather, true after it)", s.Name, s.PerOutput, perOutput)
	}
	return nil
}

func (c *checker) reads(b Buffer, perOutput bool) error {
	if err := c.buffer(b, perOutput); err != nil {
		return err
	}
	if !c.written[b] {
		return fmt.Errorf("buffer %s is read before it is written", c.p.Buffers[b].Name)
	}
	return nil
}

func (c *checker) writes(b Buffer, perOutput bool) error {
	if err := c.buffer(b, perOutput); err != nil {
		return err
	}
	c.written[b] = true
	return nil
}

func (c *checker) equal(a, b Buffer) error { return c.wide(b, c.width(a)) }

func (c *checker) wide(b Buffer, width int) error {
	if c.width(b) != width {
		return fmt.Errorf("buffer %d has width %d; it must be %d", b, c.width(b), width)
	}
	return nil
}

func (c *checker) weight(w Weight, shape ...int) error {
	if w < 0 || int(w) >= len(c.p.Weights) {
		return fmt.Errorf("weight %d does not exist", w)
	}
	if s := c.p.Weights[w]; !slices.Equal(s.Shape, shape) {
		return fmt.Errorf("weight %s has shape %v; it must be %v", s.Name, s.Shape, shape)
	}
	return nil
}

func (c *checker) layer(l int) error {
	if l < 0 || l >= c.p.KV.Layers {
		return fmt.Errorf("layer %d is outside the %d layers of the KV pool", l, c.p.KV.Layers)
	}
	return nil
}

// Check returns an error unless a tensor is complete and what a program expects.
func (s WeightSpec) Check(t Tensor) error {
	if err := s.CheckType(t); err != nil {
		return err
	}
	if n := t.DType.Bytes(Elements(t.Shape)); n != len(t.Data) {
		return fmt.Errorf("weight %s: %d bytes for shape %v in %s; expected %d", s.Name, len(t.Data), t.Shape, t.DType, n)
	}
	return nil
}

// CheckType is Check without the data.
func (s WeightSpec) CheckType(t Tensor) error {
	if !slices.Equal(t.Shape, s.Shape) {
		return fmt.Errorf("weight %s: the file has shape %v, but the model needs %v", s.Name, t.Shape, s.Shape)
	}
	if !t.DType.ForWeights() {
		return fmt.Errorf("weight %s: the type %s cannot be used for weights", s.Name, t.DType)
	}
	row := 1
	if n := len(t.Shape); n > 0 {
		row = t.Shape[n-1]
	}
	if b := t.DType.BlockLen(); row%b != 0 {
		return fmt.Errorf("weight %s: rows of %d elements are not a multiple of the block of %d elements of %s; store it as f16 or in another type", s.Name, row, b, t.DType)
	}
	return nil
}

// Supported implements Device.Supports: p is well formed, and the device has every op.
func (p *Program) Supported(device string, has func(Op) bool) error {
	for i, op := range p.Ops {
		if !has(op) {
			return fmt.Errorf("%s device: program %s: op %d, %T, is not implemented on this device; choose another device, or a model of another architecture", device, p.Name, i, op)
		}
	}
	if err := p.Check(); err != nil {
		return fmt.Errorf("%s device: %w", device, err)
	}
	return nil
}

// Check returns an error unless a program can have such a pool.
func (s PoolSpec) Check(p *Program) error {
	if err := paging.CheckSize(s.PageSize); err != nil {
		return fmt.Errorf("KV pool: page size %w", err)
	}
	switch {
	case s.Pages < 1:
		return fmt.Errorf("KV pool: %d pages; it must be at least 1", s.Pages)
	case !s.DType.ForKV():
		return fmt.Errorf("KV pool: K and V cannot be stored as %s; use f32, f16, bf16 or int8", s.DType)
	case int(s.Layout) >= len(layouts):
		return fmt.Errorf("KV pool: layout %d is not known", s.Layout)
	case s.Rows < 1 || s.StepTokens < 1:
		return fmt.Errorf("KV pool: %d rows and %d tokens per step; both must be at least 1", s.Rows, s.StepTokens)
	case s.Context < 1 || s.Context > p.Context:
		return fmt.Errorf("KV pool: the context is %d; it must be between 1 and the model's context of %d", s.Context, p.Context)
	}
	return nil
}
