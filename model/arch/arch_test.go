package arch

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// dump writes a program as text, with names in place of indexes.
func dump(p *gpu.Program) string {
	var s strings.Builder
	fmt.Fprintf(&s, "program %s: vocab %d, context %d, KV %+v\n", p.Name, p.Vocab, p.Context, p.KV)
	for _, b := range p.Buffers {
		rows := "tokens"
		if b.PerOutput {
			rows = "outputs"
		}
		fmt.Fprintf(&s, "buffer %s [%s, %d]\n", b.Name, rows, b.Width)
	}
	for _, w := range p.Weights {
		fmt.Fprintf(&s, "weight %s %v\n", w.Name, w.Shape)
	}
	buf := func(b gpu.Buffer) string { return p.Buffers[b].Name }
	weight := func(w gpu.Weight) string {
		if w == gpu.NoWeight {
			return "-"
		}
		return p.Weights[w].Name
	}
	for _, op := range p.Ops {
		switch o := op.(type) {
		case gpu.Embed:
			fmt.Fprintf(&s, "%s = embed %s\n", buf(o.Out), weight(o.Table))
		case gpu.RMSNorm:
			fmt.Fprintf(&s, "%s = norm %s by %s group %d eps %g\n", buf(o.Out), buf(o.In), weight(o.Gain), o.Group, o.Eps)
		case gpu.Linear:
			eq := "="
			if o.Accumulate {
				eq = "+="
			}
			fmt.Fprintf(&s, "%s %s linear %s by %s bias %s\n", buf(o.Out), eq, buf(o.In), weight(o.W), weight(o.Bias))
		case gpu.Rope:
			fmt.Fprintf(&s, "rope %s head %d freq %.6g scale %g\n", buf(o.X), o.HeadDim, o.InvFreq, o.Scale)
		case gpu.StoreKV:
			fmt.Fprintf(&s, "store %s %s layer %d\n", buf(o.K), buf(o.V), o.Layer)
		case gpu.Attention:
			fmt.Fprintf(&s, "%s = attention %s layer %d heads %d scale %g\n", buf(o.Out), buf(o.Q), o.Layer, o.Heads, o.Scale)
		case gpu.SiluMul:
			fmt.Fprintf(&s, "%s = silu %s times %s\n", buf(o.Out), buf(o.Gate), buf(o.Up))
		case gpu.Gather:
			fmt.Fprintf(&s, "%s = gather %s\n", buf(o.Out), buf(o.In))
		case gpu.Sample:
			fmt.Fprintf(&s, "sample %s\n", buf(o.Logits))
		}
	}
	return s.String()
}

func TestProgramGolden(t *testing.T) {
	small := config.Config{Vocab: 11, Hidden: 8, Intermediate: 12, Layers: 1, Heads: 4, KVHeads: 2, HeadDim: 4, Context: 32, NormEps: 1e-5,
		Rope: config.Rope{Theta: 10000, Scaling: "default", Factor: 1}}
	cases := map[string]func(c *config.Config){
		"llama-tied": func(c *config.Config) { c.Architecture, c.Tied, c.HeadDim, c.Layers = "LlamaForCausalLM", true, 2, 2 },
		"llama-bias": func(c *config.Config) {
			c.Architecture, c.QKVBias, c.OutBias, c.MLPBias = "LlamaForCausalLM", true, true, true
		},
		"qwen2":       func(c *config.Config) { c.Architecture, c.QKVBias = "Qwen2ForCausalLM", true },
		"qwen3":       func(c *config.Config) { c.Architecture, c.QKNorm = "Qwen3ForCausalLM", true },
		"mistral-mqa": func(c *config.Config) { c.Architecture, c.KVHeads = "MistralForCausalLM", 1 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := small
			change(&c)
			p, err := Program(&c)
			if err != nil {
				t.Fatal(err)
			}
			if n := elements(p); n != c.Parameters() {
				t.Errorf("the program reads %d parameters, the configuration counts %d", n, c.Parameters())
			}
			golden.Compare(t, name+".txt", dump(p))
		})
	}
}

func elements(p *gpu.Program) int64 {
	total := int64(0)
	for _, w := range p.Weights {
		n := int64(1)
		for _, d := range w.Shape {
			n *= int64(d)
		}
		total += n
	}
	return total
}

// TestLlama3Scaling compares with the formula as transformers writes it, by
// wavelengths, for the published scalings of Llama 3.1 and 3.2.
func TestLlama3Scaling(t *testing.T) {
	for _, r := range []config.Rope{
		{Theta: 500000, Scaling: "llama3", Factor: 8, LowFreq: 1, HighFreq: 4, Original: 8192},
		{Theta: 500000, Scaling: "llama3", Factor: 32, LowFreq: 1, HighFreq: 4, Original: 8192},
		{Theta: 10000, Scaling: "llama3", Factor: 2, LowFreq: 0.5, HighFreq: 3, Original: 128},
	} {
		const dim = 128
		got, err := InvFreq(dim, r)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for i, f := range got {
			plain := 1 / math.Pow(r.Theta, float64(2*i)/dim)
			wave := 2 * math.Pi / plain
			want, kind := 0.0, ""
			switch {
			case wave < float64(r.Original)/r.HighFreq:
				want, kind = plain, "kept"
			case wave > float64(r.Original)/r.LowFreq:
				want, kind = plain/r.Factor, "stretched"
			default:
				smooth := (float64(r.Original)/wave - r.LowFreq) / (r.HighFreq - r.LowFreq)
				want, kind = (1-smooth)*plain/r.Factor+smooth*plain, "blended"
			}
			kinds[kind]++
			if math.Abs(f-want) > 1e-14*want {
				t.Errorf("factor %g, pair %d: %g, want %g", r.Factor, i, f, want)
			}
			if i > 0 && f >= got[i-1] {
				t.Errorf("factor %g: frequency %d does not fall", r.Factor, i)
			}
		}
		if len(kinds) != 3 {
			t.Errorf("factor %g: not every range is met: %v", r.Factor, kinds)
		}
	}
}

func TestInvFreq(t *testing.T) {
	linear, _ := InvFreq(4, config.Rope{Theta: 100, Scaling: "linear", Factor: 4})
	if math.Abs(linear[0]-0.25) > 1e-15 || math.Abs(linear[1]-0.025) > 1e-15 {
		t.Errorf("linear: %v", linear)
	}
	if _, err := InvFreq(4, config.Rope{Theta: 100, Scaling: "yarn"}); err == nil {
		t.Error("an unknown scaling was computed")
	}
}

// TestRopeFactors: divisors of frequencies, as GGUF files have them for
// Llama 3.1, give its scaling.
func TestRopeFactors(t *testing.T) {
	scaled := config.Rope{Theta: 500000, Scaling: "llama3", Factor: 8, LowFreq: 1, HighFreq: 4, Original: 8192}
	plain := config.Rope{Theta: 500000, Scaling: "default", Factor: 1}
	want, err := InvFreq(128, scaled)
	if err != nil {
		t.Fatal(err)
	}
	base, err := InvFreq(128, plain)
	if err != nil {
		t.Fatal(err)
	}
	factors := config.Rope{Theta: 500000, Scaling: "factors", Factor: 1}
	for i := range base {
		factors.Factors = append(factors.Factors, float32(base[i]/want[i]))
	}
	got, err := InvFreq(128, factors)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]/want[i]-1) > 1e-7 {
			t.Errorf("frequency %d is %g, want %g", i, got[i], want[i])
		}
	}
	if factors.Factors[0] != 1 || factors.Factors[63] != 8 {
		t.Errorf("factors %v", factors.Factors)
	}
	if _, err := InvFreq(64, factors); err == nil {
		t.Error("64 factors for 32 pairs")
	}
}
