package model_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// forward is a second implementation of the transformer, in float64, without
// programs, buffers or a KV pool, and made from the papers only. It reads the
// same tensors.
type forward struct {
	c    *config.Config
	w    gpu.Weights
	t    *testing.T
	seen map[string][]float64 // tensors by name
}

func (f forward) tensor(name string) []float64 {
	if v, ok := f.seen[name]; ok {
		return v
	}
	x, err := f.w.Tensor(name)
	if err != nil {
		f.t.Fatal(err)
	}
	v := make([]float64, len(x.Data)/x.DType.BlockBytes())
	for i := range v {
		switch x.DType {
		case gpu.F32:
			v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(x.Data[4*i:])))
		case gpu.BF16:
			v[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(x.Data[2*i:])) << 16))
		default:
			f.t.Fatalf("%s is %s", name, x.DType)
		}
	}
	f.seen[name] = v
	return v
}

// project is W x + b; W is [len(out), len(x)].
func (f forward) project(module string, x []float64, outputs int, bias bool) []float64 {
	w, y := f.tensor(module+".weight"), make([]float64, outputs)
	for o := range y {
		for i, v := range x {
			y[o] += w[o*len(x)+i] * v
		}
	}
	if bias {
		for o, b := range f.tensor(module + ".bias") {
			y[o] += b
		}
	}
	return y
}

func (f forward) norm(x []float64, gain string) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+float64(f.c.NormEps))
	y := make([]float64, len(x))
	for i, g := range f.tensor(gain) {
		y[i] = x[i] * scale * g
	}
	return y
}

// rotate turns one head: elements i and i+d/2 are one complex number.
func (f forward) rotate(x []float64, position int) []float64 {
	d, r := len(x), f.c.Rope
	y := make([]float64, d)
	for i := range d / 2 {
		freq := math.Exp(-math.Log(r.Theta) * 2 * float64(i) / float64(d))
		wave := 2 * math.Pi / freq
		low, high := float64(r.Original)/r.LowFreq, float64(r.Original)/r.HighFreq
		switch {
		case r.Scaling == "linear" || r.Scaling == "llama3" && wave > low:
			freq /= r.Factor
		case r.Scaling == "llama3" && wave >= high:
			s := (float64(r.Original)/wave - r.LowFreq) / (r.HighFreq - r.LowFreq)
			freq = (1-s)*freq/r.Factor + s*freq
		}
		sin, cos := math.Sincos(freq * float64(position))
		y[i], y[i+d/2] = x[i]*cos-x[i+d/2]*sin, x[i+d/2]*cos+x[i]*sin
	}
	return y
}

func (f forward) logits(tokens []int32) [][]float64 {
	c := f.c
	keys, values := make([][][]float64, c.Layers), make([][][]float64, c.Layers) // [layer][position][width]
	out := make([][]float64, len(tokens))
	embed := f.tensor("model.embed_tokens.weight")
	for p, token := range tokens {
		h := append([]float64(nil), embed[int(token)*c.Hidden:][:c.Hidden]...)
		for l := range c.Layers {
			at := fmt.Sprintf("model.layers.%d.", l)
			x := f.norm(h, at+"input_layernorm.weight")
			q := f.project(at+"self_attn.q_proj", x, c.Heads*c.HeadDim, c.QKVBias)
			k := f.project(at+"self_attn.k_proj", x, c.KVHeads*c.HeadDim, c.QKVBias)
			v := f.project(at+"self_attn.v_proj", x, c.KVHeads*c.HeadDim, c.QKVBias)
			for i := 0; i < len(q); i += c.HeadDim {
				f.head(q[i:i+c.HeadDim], at+"self_attn.q_norm.weight", p)
			}
			for i := 0; i < len(k); i += c.HeadDim {
				f.head(k[i:i+c.HeadDim], at+"self_attn.k_norm.weight", p)
			}
			keys[l], values[l] = append(keys[l], k), append(values[l], v)
			mixed := make([]float64, len(q))
			for head := range c.Heads {
				from := head * c.KVHeads / c.Heads * c.HeadDim
				f.attend(mixed[head*c.HeadDim:][:c.HeadDim], q[head*c.HeadDim:][:c.HeadDim], keys[l], values[l], from)
			}
			add(h, f.project(at+"self_attn.o_proj", mixed, c.Hidden, c.OutBias))
			x = f.norm(h, at+"post_attention_layernorm.weight")
			gate := f.project(at+"mlp.gate_proj", x, c.Intermediate, c.MLPBias)
			up := f.project(at+"mlp.up_proj", x, c.Intermediate, c.MLPBias)
			for i, g := range gate {
				gate[i] = g / (1 + math.Exp(-g)) * up[i]
			}
			add(h, f.project(at+"mlp.down_proj", gate, c.Hidden, c.MLPBias))
		}
		output := "lm_head"
		if c.Tied {
			output = "model.embed_tokens"
		}
		out[p] = f.project(output, f.norm(h, "model.norm.weight"), c.Vocab, false)
	}
	return out
}

// head norms and rotates one head in place.
func (f forward) head(x []float64, gain string, position int) {
	y := x
	if f.c.QKNorm {
		y = f.norm(x, gain)
	}
	copy(x, f.rotate(y, position))
}

func (f forward) attend(out, q []float64, keys, values [][]float64, from int) {
	scores, total := make([]float64, len(keys)), 0.0
	for p, k := range keys {
		for i, v := range q {
			scores[p] += v * k[from+i]
		}
		scores[p] = math.Exp(scores[p] / math.Sqrt(float64(len(q))))
		total += scores[p]
	}
	for p, v := range values {
		for i := range out {
			out[i] += scores[p] / total * v[from+i]
		}
	}
}

func add(to, x []float64) {
	for i, v := range x {
		to[i] += v
	}
}

// dummy opens a random model of a configuration.
func dummy(t *testing.T, keys map[string]any) *model.Checkpoint {
	t.Helper()
	all := map[string]any{
		"vocab_size": 53, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
		"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
	}
	maps.Copy(all, keys)
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := model.Directory(fstest.MapFS{config.File: {Data: data}}).Open(model.OpenOptions{LoadFormat: model.LoadDummy, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProgramsComputeTheModel(t *testing.T) {
	cases := map[string]map[string]any{
		"llama":                 {"architectures": []string{"LlamaForCausalLM"}},
		"llama, all biases":     {"architectures": []string{"LlamaForCausalLM"}, "attention_bias": true, "mlp_bias": true, "num_key_value_heads": 4},
		"llama, linear scaling": {"architectures": []string{"LlamaForCausalLM"}, "rope_scaling": map[string]any{"type": "linear", "factor": 4}},
		"llama 3 scaling": {"architectures": []string{"LlamaForCausalLM"}, "tie_word_embeddings": true, "rope_theta": 100, "head_dim": 16,
			"rope_scaling": map[string]any{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}},
		"mistral, head_dim of its own": {"architectures": []string{"MistralForCausalLM"}, "head_dim": 10, "sliding_window": nil, "num_key_value_heads": 1},
		"qwen2":                        {"architectures": []string{"Qwen2ForCausalLM"}, "tie_word_embeddings": true},
		"qwen3, head_dim of its own":   {"architectures": []string{"Qwen3ForCausalLM"}, "head_dim": 16},
	}
	tokens := []int32{1, 52, 0, 7, 7, 31, 20, 19, 18, 40, 2, 5, 33, 33, 50, 11, 9, 24}
	for name, keys := range cases {
		t.Run(name, func(t *testing.T) {
			c := dummy(t, keys)
			m, err := ref.New().Load(c.Program, c.Weights, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := exec.Logits(m, c.Program, tokens)
			if err != nil {
				t.Fatal(err)
			}
			worst, size := compare(t, c, tokens, got)
			t.Logf("largest logit %.3g, largest difference %.2g", size, worst)
			if worst > 1e-5 || size < 0.5 || size > 50 {
				t.Errorf("largest difference %g (limit 1e-5), largest logit %g", worst, size)
			}
		})
	}
}

// compare returns the largest difference to forward, and the largest logit.
func compare(t *testing.T, c *model.Checkpoint, tokens []int32, got [][]float32) (worst, size float64) {
	t.Helper()
	want := forward{c.Config, c.Weights, t, map[string][]float64{}}.logits(tokens)
	for p := range want {
		for i := range want[p] {
			worst = max(worst, math.Abs(want[p][i]-float64(got[p][i])))
			size = max(size, math.Abs(want[p][i]))
		}
	}
	return worst, size
}

// TestConformanceForward holds the real models against forward; the BF16 one
// has no other judge.
func TestConformanceForward(t *testing.T) {
	weights := conformance.Path(t, "weights")
	cpuDevice, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stories260k/hf-f32", "stories260k/hf-bf16"} {
		for _, device := range []gpu.Device{ref.New(), cpuDevice} {
			c, err := openAt(filepath.Join(weights, name), model.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			m, err := device.Load(c.Program, c.Weights, nil)
			if err != nil {
				t.Fatal(err)
			}
			tokens := []int32{1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426}
			got, err := exec.Logits(m, c.Program, tokens)
			if err != nil {
				t.Fatal(err)
			}
			worst, _ := compare(t, c, tokens, got)
			t.Logf("%s on %s: largest difference %.2g", name, device.Info().Kind, worst)
			if worst > 1e-4 {
				t.Errorf("%s on %s: largest difference %g, limit 1e-4", name, device.Info().Kind, worst)
			}
		}
	}
}
