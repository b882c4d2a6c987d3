package model_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// converted writes a checkpoint's tensors as llama.cpp's converter would, under
// the metadata of a model of the same shape.
func converted(t *testing.T, c *model.Checkpoint, m ggufwrite.Model) ggufwrite.File {
	t.Helper()
	f := m.File()
	f.Tensors = nil
	for _, name := range c.Weights.Names() {
		x, err := c.Weights.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		data := x.Data
		if m.Arch == "llama" && strings.Contains(name, "q_proj") {
			data = paired(data, m.Heads, m.HeadDim)
		} else if m.Arch == "llama" && strings.Contains(name, "k_proj") {
			data = paired(data, m.KVHeads, m.HeadDim)
		}
		f.Tensors = append(f.Tensors, ggufwrite.Tensor{Name: converterName(name), Type: x.DType, Shape: x.Shape, Data: ggufdata.Bytes(data)})
	}
	return f
}

// paired is the converter's reshape(heads, 2, head_dim/2, …).swapaxes(1, 2).
func paired(data []byte, heads, headDim int) []byte {
	row, half := len(data)/heads/headDim, headDim/2
	at := func(head, i, j, width int) int { return ((head*headDim/width+i)*width + j) * row }
	out := make([]byte, len(data))
	for h := range heads {
		for j := range 2 {
			for i := range half {
				copy(out[at(h, i, j, 2):][:row], data[at(h, j, i, half):])
			}
		}
	}
	return out
}

func converterName(name string) string {
	for from, to := range map[string]string{"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"} {
		name = strings.Replace(name, from+".", to+".", 1)
	}
	return strings.NewReplacer("model.layers.", "blk.", "input_layernorm", "attn_norm", "post_attention_layernorm", "ffn_norm",
		"self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k", "self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output",
		"self_attn.q_norm", "attn_q_norm", "self_attn.k_norm", "attn_k_norm",
		"mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj", "ffn_down").Replace(name)
}

// written puts a file into a directory of its own.
func written(t testing.TB, f ggufwrite.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.gguf")
	if err := ggufwrite.Create(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

var shapes = map[string]struct {
	keys  map[string]any
	shape ggufwrite.Model
}{
	"llama": {
		map[string]any{"architectures": []string{"LlamaForCausalLM"}, "attention_bias": true, "head_dim": 12},
		ggufwrite.Model{Arch: "llama", Layers: 2, Hidden: 24, Intermediate: 40, Heads: 4, KVHeads: 2, HeadDim: 12, Vocab: 300, Context: 64},
	},
	"qwen2": {
		map[string]any{"architectures": []string{"Qwen2ForCausalLM"}, "tie_word_embeddings": true},
		ggufwrite.Model{Arch: "qwen2", Layers: 2, Hidden: 24, Intermediate: 40, Heads: 4, KVHeads: 2, HeadDim: 6, Vocab: 300, Context: 64},
	},
	"qwen3": {
		map[string]any{"architectures": []string{"Qwen3ForCausalLM"}, "head_dim": 16},
		ggufwrite.Model{Arch: "qwen3", Layers: 2, Hidden: 24, Intermediate: 40, Heads: 4, KVHeads: 2, HeadDim: 16, Vocab: 300, Context: 64},
	},
}

// TestOpenGGUF: a converted model has the tensors and the program of the
// original.
func TestOpenGGUF(t *testing.T) {
	for arch, c := range shapes {
		t.Run(arch, func(t *testing.T) {
			c.keys["vocab_size"], c.keys["rope_theta"], c.keys["rms_norm_eps"] = 300, 1e6, float32(1e-6)
			original := dummy(t, c.keys)
			got, err := openAt(written(t, converted(t, original, c.shape)), model.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			if fmt.Sprintf("%+v", got.Program) != fmt.Sprintf("%+v", original.Program) {
				t.Errorf("program\n%+v\nwant\n%+v", got.Program, original.Program)
			}
			if !slices.Equal(got.Weights.Names(), original.Weights.Names()) || len(got.Unused) > 0 {
				t.Errorf("tensors %v, unused %v", got.Weights.Names(), got.Unused)
			}
			for _, name := range original.Weights.Names() {
				have, err := got.Weights.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := original.Weights.Tensor(name)
				if !slices.Equal(have.Shape, want.Shape) || have.DType != want.DType || !bytes.Equal(have.Data, want.Data) {
					t.Errorf("%s differs from the original", name)
				}
			}
			if _, err := got.Hash(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenGGUFOfEachType: rows of blocks are put in order like any others, and
// random weights of every type make a model that computes.
func TestOpenGGUFOfEachType(t *testing.T) {
	for _, d := range gpu.WeightDTypes() {
		m := ggufwrite.Model{Arch: "llama", Layers: 1, Hidden: 256, Intermediate: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 300, Context: 64, Type: d, Tied: true}
		f := m.File()
		var q bytes.Buffer
		i := slices.IndexFunc(f.Tensors, func(x ggufwrite.Tensor) bool { return x.Name == "blk.0.attn_q.weight" })
		if err := f.Tensors[i].Data(&q); err != nil {
			t.Fatal(err)
		}
		c, err := openAt(written(t, f), model.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c.WeightDType() != d {
			t.Errorf("%s: most is %s", d, c.WeightDType())
		}
		for _, w := range c.Program.Weights {
			x, err := c.Weights.Tensor(w.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(x); err != nil {
				t.Error(err)
			}
			if strings.HasSuffix(w.Name, "q_proj.weight") && !bytes.Equal(paired(x.Data, 4, 64), q.Bytes()) {
				t.Errorf("%s: rows of Q are not in order", d)
			}
		}
		checkComputes(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkComputes checks for logits of a usual size, on the reference device.
func checkComputes(t *testing.T, c *model.Checkpoint) {
	t.Helper()
	m, err := ref.New().Load(c.Program, c.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rows, err := exec.Logits(m, c.Program, []int32{3, 7, 250})
	if err != nil {
		t.Fatal(err)
	}
	size := 0.0
	for _, v := range rows[2] {
		size = max(size, math.Abs(float64(v)))
	}
	if !(size > 0.1 && size < 100) {
		t.Errorf("%s: the largest logit is %g", c.WeightDType(), size)
	}
}

func TestOpenGGUFRefuses(t *testing.T) {
	m := shapes["llama"].shape
	m.Type = gpu.F32
	without := func(name string) ggufwrite.File {
		f := m.File()
		f.Tensors = slices.DeleteFunc(f.Tensors, func(x ggufwrite.Tensor) bool { return x.Name == name })
		return f
	}
	add := func(name string, shape ...int) ggufwrite.File {
		f := without(name)
		n := 1
		for _, d := range shape {
			n *= d
		}
		f.Tensors = append(f.Tensors, ggufwrite.Tensor{Name: name, Type: gpu.F32, Shape: shape, Data: ggufdata.Floats(make([]float32, n)...)})
		return f
	}
	quantised := add("blk.0.attn_q.bias", 48)
	last := &quantised.Tensors[len(quantised.Tensors)-1]
	last.Type, last.Shape, last.Data = gpu.Q8_0, []int{64}, ggufdata.Bytes(make([]byte, 68))
	for i, k := range quantised.Keys {
		switch k.Name {
		case "llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count":
			quantised.Keys[i].Value = uint32(16)
		}
	}
	for name, c := range map[string]struct {
		file ggufwrite.File
		want []string
	}{
		"missing":           {without("blk.1.ffn_up.weight"), []string{"small.gguf", "tensor blk.1.ffn_up.weight is missing"}},
		"missing embedding": {without("token_embd.weight"), []string{"tensor token_embd.weight is missing"}},
		"shape":             {add("blk.0.attn_v.weight", 12, 24), []string{"model.layers.0.self_attn.v_proj.weight (blk.0.attn_v.weight in the file)", "[12 24]", "[24 24]"}},
		"experts":           {add("blk.0.ffn_gate_exps.weight", 2, 2), []string{"blk.0.ffn_gate_exps.weight in the file", "is not part of a LlamaForCausalLM"}},
		"norms of heads":    {add("blk.0.attn_q_norm.weight", 12), []string{"blk.0.attn_q_norm.weight in the file", "is not part of a LlamaForCausalLM"}},
		"two of one name":   {add("model.norm.weight", 24), []string{"output_norm.weight", "model.norm.weight", "both"}},
		"bias in blocks":    {quantised, []string{"blk.0.attn_q.bias", "Q8_0", "reordered"}},
	} {
		path := written(t, c.file)
		_, err := openAt(path, model.OpenOptions{})
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		for _, w := range append(c.want, path) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

// TestFiles: the error for something that is not a model names what it is.
func TestFiles(t *testing.T) {
	f := shapes["qwen2"].shape
	f.Type = gpu.F32
	path := written(t, f.File())
	files, err := model.At(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := files.Tokenizer()
	if err != nil || tok.VocabSize() != 300 {
		t.Errorf("a tokenizer of %d ids, %v", tok.VocabSize(), err)
	}
	random, err := files.Open(model.OpenOptions{LoadFormat: model.LoadDummy, ContextLength: 32})
	if err != nil || random.Program.Context != 32 {
		t.Errorf("dummy weights: %v", err)
	}
	files, err = model.At(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	_, ofWeights := files.Open(model.OpenOptions{})
	_, ofTokenizer := files.Tokenizer()
	for _, err := range []error{ofWeights, ofTokenizer} {
		if err == nil || !strings.Contains(err.Error(), "only GGUF files: small.gguf; give the path of one") {
			t.Errorf("a directory of GGUF files: %v", err)
		}
	}
	names := t.TempDir()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"model.bin": nil, "sha256-1234": data, "big-00001-of-00002.gguf": data} {
		if err := os.WriteFile(filepath.Join(names, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := model.At(filepath.Join(names, "model.bin")); err == nil || !strings.Contains(err.Error(), "is not a GGUF file") {
		t.Errorf("a file of another kind: %v", err)
	}
	for name, want := range map[string]string{"sha256-1234": "sha256-1234", "big-00001-of-00002.gguf": "big", ".": filepath.Base(names)} {
		files, err := model.At(filepath.Join(names, name))
		if err != nil || files.Name() != want {
			t.Errorf("%s is called %q, %v; want %q", name, files.Name(), err, want)
		}
	}
	hashed, err := openAt(filepath.Join(names, "sha256-1234"), model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := hashed.Close(); err != nil {
		t.Error(err)
	}
}
