package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// TestAMXHasTheBitsOfAVX512: for any chunks of a prompt, and so for any kernels that
// compute its rows.
func TestAMXHasTheBitsOfAVX512(t *testing.T) {
	if !simd.AMX.Supported() {
		t.Skip("this processor has no AMX, or the system does not allow it")
	}
	spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
	for _, dtype := range []gpu.DType{gpu.Q8_0, gpu.Q4_0} {
		shape := wide
		shape.DType, shape.Intermediate, shape.Bias = dtype, 1120, true // more columns than a block
		p, w := gputest.Build(shape, 3)
		var want [][]float32
		for _, o := range []Options{
			{Threads: 1, InstructionSet: "avx512"}, {Threads: 1, InstructionSet: "amx"}, {Threads: 3, InstructionSet: "amx"},
		} {
			d, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, steps := range [][]int{{100}, {40, 1, 59}, {11, intgemm.AMXMinRows, 1, 24}} {
				m, err := gputest.Load(d, p, w, spec)
				if err != nil {
					t.Fatal(err)
				}
				logits := chunks(t, m, shape, spec, steps...)
				if want == nil {
					want = logits
				} else if err := gputest.Same(logits, want); err != nil {
					t.Errorf("%s at %s by %d threads, steps of %v tokens: %v", dtype, o.InstructionSet, o.Threads, steps, err)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSumsStayInside: in the usual program, whose SiluMul overwrites its input, and in
// one that writes elsewhere, but not if other stages read a result.
func TestSumsStayInside(t *testing.T) {
	if !simd.AMX.Supported() {
		t.Skip("this processor has no AMX, or the system does not allow it")
	}
	shape := wide
	shape.DType, shape.Intermediate = gpu.Q8_0, 3*shape.Hidden // so that a gain of norms fits
	spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
	norm := func(b gpu.Buffer) gpu.Op {
		return gpu.RMSNorm{In: b, Out: b, Gain: 1, Group: shape.Hidden, Eps: 1} // weight 1 is the first norm's
	}
	for name, c := range map[string]struct {
		elsewhere bool // SiluMul writes into a buffer of its own
		// after are the ops after the SiluMul, at first a product that adds.
		after func(silu gpu.SiluMul, down gpu.Linear) []gpu.Op
		want  bool
	}{
		"as usual":             {false, func(_ gpu.SiluMul, down gpu.Linear) []gpu.Op { return []gpu.Op{down} }, true},
		"elsewhere":            {true, func(_ gpu.SiluMul, down gpu.Linear) []gpu.Op { return []gpu.Op{down} }, true},
		"products of two":      {true, func(_ gpu.SiluMul, down gpu.Linear) []gpu.Op { return []gpu.Op{down, down} }, false},
		"a norm of the output": {true, func(s gpu.SiluMul, down gpu.Linear) []gpu.Op { return []gpu.Op{down, norm(s.Out), down} }, false},
		"a norm of a sum":      {true, func(s gpu.SiluMul, down gpu.Linear) []gpu.Op { return []gpu.Op{down, norm(s.Up)} }, false},
		"products of a sum": {true, func(s gpu.SiluMul, down gpu.Linear) []gpu.Op {
			other := down
			other.In = s.Up
			return []gpu.Op{down, other}
		}, false},
		"a second SiluMul": {true, func(s gpu.SiluMul, down gpu.Linear) []gpu.Op {
			return []gpu.Op{down, gpu.SiluMul{Gate: s.Up, Up: s.Gate, Out: s.Gate}}
		}, false},
	} {
		p, w := gputest.Build(shape, 3)
		var ops []gpu.Op
		for i := 0; i < len(p.Ops); i++ {
			silu, is := p.Ops[i].(gpu.SiluMul)
			if !is {
				ops = append(ops, p.Ops[i])
				continue
			}
			i++
			down := p.Ops[i].(gpu.Linear)
			if c.elsewhere {
				p.Buffers = append(p.Buffers, gpu.BufferSpec{Name: "activated", Width: shape.Intermediate})
				silu.Out = gpu.Buffer(len(p.Buffers) - 1)
				down.In = silu.Out
			}
			ops = append(append(ops, silu), c.after(silu, down)...)
		}
		p.Ops = ops
		var want [][]float32
		for _, set := range []string{"avx512", "amx"} {
			m := loadProgram(t, Options{Threads: 2, InstructionSet: set}, p, w, spec)
			q := prompt(shape, spec, 100)
			q.KeepLogits = true
			got, err := gputest.Fresh(m, q)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got[0].Logits
			} else if err := gputest.Same(got[0].Logits, want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, st := range m.body {
				if l, is := st.(*linears); is && l.silu != nil && l.inner != c.want {
					t.Errorf("%s at %s: sums stay inside: %v, want %v", name, set, l.inner, c.want)
				}
			}
		}
	}
}

// The memory of products by tiles is counted for each worker.
func TestBytesCountTheSumsOfTiles(t *testing.T) {
	if !simd.AMX.Supported() {
		t.Skip("this processor has no AMX, or the system does not allow it")
	}
	shape := wide
	shape.DType, shape.Intermediate = gpu.Q8_0, 224
	const threads = 3
	workspace := func(set string) int64 {
		m, _ := load(t, shape, Options{Threads: threads, InstructionSet: set}, gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16})
		return m.Bytes()["workspace"]
	}
	want := threads * (intgemm.UnpackedBytes(amxGroups) + 4*amxPanels*amxTokens*layout.PanelRows)
	if got := workspace("amx") - workspace("avx512"); got != int64(want) {
		t.Errorf("tiles add %d bytes to the workspace, want %d", got, want)
	}
}
