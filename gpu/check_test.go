package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// find is the index of the first op of a type.
func find[T gpu.Op](p *gpu.Program) (int, T) {
	for i, op := range p.Ops {
		if x, is := op.(T); is {
			return i, x
		}
	}
	panic("the program has no such op")
}

// alter changes the first op of a type.
func alter[T gpu.Op](change func(*T)) func(*gpu.Program) {
	return func(p *gpu.Program) {
		i, op := find[T](p)
		change(&op)
		p.Ops[i] = op
	}
}

func TestProgramCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gpu.Program)
		want   string
	}{
		"no vocabulary":      {func(p *gpu.Program) { p.Vocab = 0 }, "vocabulary is 0"},
		"no ops":             {func(p *gpu.Program) { p.Ops = nil }, "has no ops"},
		"no KV heads":        {func(p *gpu.Program) { p.KV.Heads = 0 }, "0 heads"},
		"empty buffer":       {func(p *gpu.Program) { p.Buffers[2].Width = 0 }, "width 0"},
		"Sample not last":    {func(p *gpu.Program) { p.Ops = append(p.Ops, p.Ops[0]) }, "last op"},
		"Sample missing":     {func(p *gpu.Program) { p.Ops = p.Ops[:len(p.Ops)-1] }, "last op"},
		"read before write":  {func(p *gpu.Program) { p.Ops = p.Ops[1:] }, "read before it is written"},
		"unknown buffer":     {alter(func(o *gpu.RMSNorm) { o.Out = 99 }), "buffer 99"},
		"unknown weight":     {alter(func(o *gpu.RMSNorm) { o.Gain = -1 }), "weight -1"},
		"weight of a shape":  {func(p *gpu.Program) { p.Weights[0].Shape[1]++ }, "shape"},
		"group":              {alter(func(o *gpu.RMSNorm) { o.Group = 7 }), "group size 7"},
		"linear in place":    {alter(func(o *gpu.Linear) { o.Out = o.In }), "must be different"},
		"bias of a shape":    {alter(func(o *gpu.Linear) { o.Bias = o.W }), "shape"},
		"rope heads":         {alter(func(o *gpu.Rope) { o.HeadDim = 9 }), "heads of 9"},
		"rope frequencies":   {alter(func(o *gpu.Rope) { o.InvFreq = make([]float64, 6) }), "6 frequencies"},
		"layer":              {alter(func(o *gpu.StoreKV) { o.Layer = 2 }), "layer 2"},
		"width of keys":      {alter(func(o *gpu.StoreKV) { o.K = 0 }), "width"},
		"query heads":        {alter(func(o *gpu.Attention) { o.Heads = 5 }), "5 query heads"},
		"attention in place": {alter(func(o *gpu.Attention) { o.Out = o.Q }), "must be different"},
		"gate and up":        {alter(func(o *gpu.SiluMul) { o.Up = 0 }), "width"},
		"per token in the tail": {func(p *gpu.Program) {
			i, _ := find[gpu.Gather](p)
			_, rope := find[gpu.Rope](p)
			p.Ops = slices.Insert(p.Ops, i+1, gpu.Op(rope))
		}, "before the first Gather"},
		"logits per token": {func(p *gpu.Program) { p.Buffers[len(p.Buffers)-1].PerOutput = false }, "PerOutput"},
	} {
		p, _ := gputest.Build(gputest.Shapes()[0], 1)
		if err := p.Check(); err != nil {
			t.Fatalf("unchanged: %v", err)
		}
		c.change(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
