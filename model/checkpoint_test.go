package model_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/weights"
)

// store writes a checkpoint's tensors as a safetensors file.
func store(t *testing.T, c *model.Checkpoint, change func(head map[string]any)) []byte {
	t.Helper()
	head := map[string]any{}
	var data []byte
	for _, name := range c.Weights.Names() {
		x, err := c.Weights.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		head[name] = map[string]any{"dtype": strings.ToUpper(x.DType.String()), "shape": x.Shape, "data_offsets": []int{len(data), len(data) + len(x.Data)}}
		data = append(data, x.Data...)
	}
	if change != nil {
		change(head)
	}
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

const sizes = `{"architectures":["%s"],"vocab_size":53,"hidden_size":24,"intermediate_size":40,"num_hidden_layers":2,
 "num_attention_heads":4,"num_key_value_heads":2,"max_position_embeddings":64,"tie_word_embeddings":%v,"torch_dtype":"%s","rope_theta":%g}`

func directory(arch string, tied bool, file []byte) fstest.MapFS {
	return fstest.MapFS{
		config.File:        {Data: fmt.Appendf(nil, sizes, arch, tied, "bfloat16", 1e4)},
		weights.SingleFile: {Data: file},
	}
}

func made(t *testing.T, arch string, tied bool, seed uint64) *model.Checkpoint {
	t.Helper()
	c, err := model.Directory(directory(arch, tied, nil)).Open(model.OpenOptions{LoadFormat: model.LoadDummy, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenDirectory(t *testing.T) {
	source := made(t, "LlamaForCausalLM", true, 1)
	dir := t.TempDir()
	for name, f := range directory("LlamaForCausalLM", true, store(t, source, func(head map[string]any) {
		empty := map[string]any{"dtype": "F32", "shape": []int{0}, "data_offsets": []int{0, 0}}
		head["lm_head.weight"] = empty                                       // a copy of the embedding
		head["model.layers.0.self_attn.rotary_emb.inv_freq"] = empty         // of old Llama 2 files
		head["visual.patch.weight"], head["model.layers.2.x"] = empty, empty // parts that are not served
	})) {
		if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := openAt(dir, model.OpenOptions{ContextLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Unused, []string{"model.layers.2.x", "visual.patch.weight"}) {
		t.Errorf("unused %v", c.Unused)
	}
	if c.WeightDType() != gpu.BF16 || c.WeightBytes() != 2*c.Config.Parameters() || c.Program.Context != 32 {
		t.Errorf("type %s, %d bytes, context %d", c.WeightDType(), c.WeightBytes(), c.Program.Context)
	}
	for _, w := range c.Program.Weights {
		got, err := c.Weights.Tensor(w.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(got); err != nil {
			t.Error(err)
		}
		want, _ := source.Weights.Tensor(w.Name)
		if string(got.Data) != string(want.Data) {
			t.Errorf("%s differs from what was stored", w.Name)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesWhatDoesNotFit(t *testing.T) {
	llama := made(t, "LlamaForCausalLM", false, 1)
	plain := store(t, llama, nil)
	q := "model.layers.1.self_attn.q_proj.weight"
	cases := []struct {
		name string
		fsys fstest.MapFS
		o    model.OpenOptions
		want []string
	}{
		{"no output matrix", directory("LlamaForCausalLM", false, store(t, made(t, "LlamaForCausalLM", true, 1), nil)), model.OpenOptions{}, []string{"lm_head.weight", "download both"}},
		{"biases missing", directory("Qwen2ForCausalLM", false, plain), model.OpenOptions{}, []string{"q_proj.bias", "is missing from the weights"}},
		{"biases too many", directory("LlamaForCausalLM", false, store(t, made(t, "Qwen2ForCausalLM", false, 1), nil)), model.OpenOptions{}, []string{"_proj.bias", "is not part of a LlamaForCausalLM"}},
		{"shape", directory("LlamaForCausalLM", false, store(t, llama, func(h map[string]any) { h[q].(map[string]any)["shape"] = []int{12, 48} })), model.OpenOptions{}, []string{weights.SingleFile, q, "[12 48]", "[24 24]"}},
		{"type", directory("LlamaForCausalLM", false, store(t, llama, func(h map[string]any) { h[q].(map[string]any)["dtype"] = "I16" })), model.OpenOptions{}, []string{q, "I16", "BF16"}},
		{"cut off", directory("LlamaForCausalLM", false, plain[:len(plain)-1]), model.OpenOptions{}, []string{weights.SingleFile, "incomplete"}},
		{"load-format", directory("LlamaForCausalLM", false, plain), model.OpenOptions{LoadFormat: "gguf"}, []string{`"gguf"`, "dummy"}},
		{"context", directory("LlamaForCausalLM", false, plain), model.OpenOptions{ContextLength: 65}, []string{"at most 64"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := model.Directory(c.fsys).Open(c.o)
			if err == nil {
				t.Fatal("opened")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
	file := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "model " + file + ": has 0 bytes", filepath.Dir(file): "only GGUF files: m.gguf; give the path", file + "x": "give the path"} {
		if _, err := openAt(path, model.OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestHash: two models have one hash exactly if their results are the same.
func TestHash(t *testing.T) {
	hash := func(c *model.Checkpoint, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Hash(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	file := store(t, made(t, "LlamaForCausalLM", true, 1), nil)
	base := hash(model.Directory(directory("LlamaForCausalLM", true, file)).Open(model.OpenOptions{}))
	if shorter := hash(model.Directory(directory("LlamaForCausalLM", true, file)).Open(model.OpenOptions{ContextLength: 8})); shorter != base {
		t.Error("the context limit changes no result, but the hash")
	}
	other := slices.Clone(file)
	other[len(other)-1] ^= 1
	theta := directory("LlamaForCausalLM", true, file)
	theta[config.File] = &fstest.MapFile{Data: fmt.Appendf(nil, sizes, "LlamaForCausalLM", true, "bfloat16", 2e4)}
	for what, h := range map[string]string{
		"weights":     hash(model.Directory(directory("LlamaForCausalLM", true, other)).Open(model.OpenOptions{})),
		"rope theta":  hash(model.Directory(theta).Open(model.OpenOptions{})),
		"dummy":       hash(made(t, "LlamaForCausalLM", true, 1), nil),
		"other dummy": hash(made(t, "LlamaForCausalLM", true, 2), nil),
	} {
		if h == base || !strings.Contains(h, "sha256:") {
			t.Errorf("other %s, hash %s as before", what, h)
		}
	}
}

// openAt opens the model at a path.
func openAt(path string, o model.OpenOptions) (*model.Checkpoint, error) {
	files, err := model.At(path)
	if err != nil {
		return nil, err
	}
	return files.Open(o)
}
