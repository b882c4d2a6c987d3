package cpu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// groups is a model whose matrices have whole groups of 32 columns, except down, which
// has 200 columns.
var groups = gputest.Shape{Name: "groups", Vocab: 70, Hidden: 96, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, Intermediate: 200, Context: 64, Bias: true, DType: gpu.F32}

// logits loads a model and computes the logits of 30 tokens.
func logits(t *testing.T, o Options, p *gpu.Program, w gpu.Weights) ([][]float32, gpu.Model) {
	t.Helper()
	spec := gpu.PoolSpec{PageSize: 4, Pages: 10}
	m := loadProgram(t, o, p, w, spec)
	q := prompt(groups, spec, 30)
	q.KeepLogits = true
	got, err := gputest.Fresh(m, q)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Logits, m
}

// TestWeightDType: weight-dtype has, bit for bit, the results of a file of that type, and
// the weights take the planned memory.
func TestWeightDType(t *testing.T) {
	for _, tied := range []bool{false, true} {
		shape := groups
		shape.Tied = tied
		p, stored := gputest.Build(shape, 3)
		makesLogits := logitsOf(p)
		for _, name := range []string{"f32", "bf16", "f16", "q8_0", "q4_0"} {
			asked, err := gpu.ParseDType(name)
			if err != nil {
				t.Fatal(err)
			}
			rounded := gputest.Tensors{}
			for i, s := range p.Weights {
				x := stored[s.Name]
				d := asked
				if d == gpu.Q4_0 && makesLogits[i] {
					d = gpu.Q8_0
				}
				if n := len(x.Data) / 4; len(x.Shape) == 2 && x.Shape[1]%d.BlockLen() == 0 {
					floats := make([]float32, n)
					quant.Dequantize(gpu.F32, floats, x.Data)
					x.DType, x.Data = d, make([]byte, d.Bytes(n))
					quant.Quantize(d, x.Data, floats)
				}
				rounded[s.Name] = x
			}
			for _, activations := range []string{"int8", "f32"} {
				o := Options{Threads: 2, Activations: activations}
				want, _ := logits(t, o, p, rounded)
				o.WeightDType = name
				got, m := logits(t, o, p, stored)
				for i := range want {
					if !slices.Equal(got[i], want[i]) {
						t.Fatalf("tied %v, weight-dtype %s, activations %s: token %d differs from a file of that type", tied, name, activations, i)
					}
				}
				d, _ := New(o)
				plan, err := d.PlanWeights(p, stored)
				if have := m.Bytes()["weights"]; err != nil || plan.Bytes != have {
					t.Errorf("%s: planned %d bytes, held %d: %v", name, plan.Bytes, have, err)
				}
				if all := fmt.Sprint(plan.Changed); asked.Quantised() != strings.Contains(all, reasons[unevenRows]) ||
					(asked == gpu.Q4_0) != strings.Contains(all, reasons[forLogits]) || (asked != gpu.F32) != strings.Contains(all, reasons[asRequested]) {
					t.Errorf("%s: the changes are %+v", name, plan.Changed)
				}
			}
		}
	}
}

// TestPlanWeightsListsChanges: once per type and reason, with bytes and matrices.
func TestPlanWeightsListsChanges(t *testing.T) {
	shape := groups
	shape.DType = gpu.Q5_1
	p, w := gputest.Build(shape, 4)
	for _, tt := range []struct {
		activations string
		held        gpu.DType
		each        int64 // bytes of 32 weights
	}{{"int8", gpu.Q8_0, 34}, {"f32", gpu.F32, 128}} {
		d, err := New(Options{Activations: tt.activations})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.PlanWeights(p, w)
		if err != nil {
			t.Fatal(err)
		}
		var want gpu.HeldWeights
		for _, s := range p.Weights {
			if x := w[s.Name]; x.DType == gpu.Q5_1 {
				want.Tensors++
				want.Bytes += int64((s.Shape[0]+31)/32*32*s.Shape[1]) / 32 * tt.each
			}
		}
		want.Stored, want.Held = gpu.Q5_1, tt.held
		if len(plan.Changed) != 1 {
			t.Fatalf("%s: %+v", tt.activations, plan.Changed)
		}
		have := plan.Changed[0]
		if want.Why = have.Why; have != want || have.Why == "" {
			t.Errorf("%s: %+v, want %+v", tt.activations, have, want)
		}
	}
}

// TestNumbersAreInTheFingerprint: options that change a bit of a result change it.
func TestNumbersAreInTheFingerprint(t *testing.T) {
	seen := map[string]Options{}
	for _, o := range []Options{{}, {Activations: "f32"}, {WeightDType: "q8_0"}, {WeightDType: "q4_0"}, {WeightDType: "q4_0", Activations: "f32"}} {
		d, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		f := d.Info().Fingerprint
		if other, is := seen[f]; is {
			t.Errorf("%+v and %+v have the fingerprint %s", o, other, f)
		}
		seen[f] = o
	}
	a, _ := New(Options{Activations: "auto", WeightDType: "auto"})
	b, _ := New(Options{Activations: "int8"})
	if a.Info().Fingerprint != b.Info().Fingerprint {
		t.Error("auto has another fingerprint than int8")
	}
	for _, o := range []Options{{Activations: "int4"}, {WeightDType: "q4_k"}, {WeightDType: "int8"}, {WeightDType: "x"}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "auto, f32") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
