package hf

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/weights"
)

const (
	embedding   = "token_embd.weight"
	freqFactors = "rope_freqs.weight" // part of the configuration
)

// names are those of tensors that belong to the model as a whole.
var names = map[string]string{
	embedding:            "model.embed_tokens.weight",
	"output_norm.weight": "model.norm.weight",
	"output.weight":      "lm_head.weight",
}

// modules are those of a layer, without ".weight" or ".bias".
var modules = map[string]string{
	"attn_norm":     "input_layernorm",
	"attn_q":        "self_attn.q_proj",
	"attn_k":        "self_attn.k_proj",
	"attn_v":        "self_attn.v_proj",
	"attn_output":   "self_attn.o_proj",
	"attn_q_norm":   "self_attn.q_norm",
	"attn_k_norm":   "self_attn.k_norm",
	"ffn_norm":      "post_attention_layernorm",
	"ffn_gate":      "mlp.gate_proj",
	"ffn_up":        "mlp.up_proj",
	"ffn_down":      "mlp.down_proj",
	"attn_rot_embd": "self_attn.rotary_emb", // angles, stored by habit
}

var layerName = regexp.MustCompile(`^blk\.(\d{1,6})\.(.+)$`)

// nameOf returns a tensor's Hugging Face name. A tensor that is not known there
// keeps its name, below that of its layer.
func nameOf(name string) string {
	if n, ok := names[name]; ok {
		return n
	}
	m := layerName.FindStringSubmatch(name)
	if m == nil {
		return name
	}
	module, kind := m[2], ""
	if at := strings.LastIndexByte(module, '.'); at >= 0 {
		module, kind = module[:at], module[at:]
	}
	if n, ok := modules[module]; ok {
		module = n
	}
	if module == "self_attn.rotary_emb" {
		kind = ".inv_freq"
	}
	return "model.layers." + m[1] + "." + module + kind
}

// storedName is the inverse, for errors.
func storedName(name string) string {
	for stored, n := range names {
		if n == name {
			return stored
		}
	}
	layer, rest, ok := strings.Cut(strings.TrimPrefix(name, "model.layers."), ".")
	if !ok {
		return name
	}
	for stored, n := range modules {
		if kind, ok := strings.CutPrefix(rest, n+"."); ok {
			return "blk." + layer + "." + stored + "." + kind
		}
	}
	return name
}

// Weights returns a file's tensors under their Hugging Face names. It takes the
// file over: closing it closes the file.
func Weights(f *gguf.File, c *config.Config) (weights.Source, error) {
	a, err := architectureOf(f)
	if err != nil {
		return nil, err
	}
	orders := map[int][]int{} // by number of heads
	var placed []weights.Placed
	seen := map[string]string{}
	for _, t := range f.Tensors {
		if t.Name == freqFactors {
			continue
		}
		p := weights.Placed{Blob: t.Blob, At: t.At, Info: weights.Info{
			Name: nameOf(t.Name), Stored: t.Name, DType: t.Type.FileName(), Shape: t.Shape(), Bytes: t.Bytes, File: t.File,
		}}
		if other, twice := seen[p.Name]; twice {
			return nil, fmt.Errorf("%s: tensors %s and %s are both %s; the file is damaged; download it again", t.File, other, t.Name, p.Name)
		}
		seen[p.Name] = t.Name
		// Another number of rows than the configuration's is refused later.
		if heads := pairedHeads(p.Name, c); a.paired && heads > 0 && p.Shape[0] == heads*c.HeadDim {
			if len(p.Shape) == 1 && t.Type.Quantised() {
				return nil, fmt.Errorf("%s: tensor %s has one dimension and type %s, whose elements cannot be reordered; use another file of the model", t.File, t.Name, p.DType)
			}
			if orders[heads] == nil {
				orders[heads] = unpaired(heads, c.HeadDim)
			}
			p.Order = orders[heads]
		}
		placed = append(placed, p)
	}
	file := f.Name
	return weights.FromFiles(f.Release(), placed, func(name string) error {
		return fmt.Errorf("%s: tensor %s is missing; the file is not a complete model of this architecture; download it again", file, storedName(name))
	}), nil
}

// pairedHeads is the number of heads whose rows a tensor of Q or K has; 0 of any other.
func pairedHeads(name string, c *config.Config) int {
	switch {
	case strings.Contains(name, ".self_attn.q_proj."):
		return c.Heads
	case strings.Contains(name, ".self_attn.k_proj."):
		return c.KVHeads
	}
	return 0
}

// unpaired is the order of rows before the converter of llama.cpp put the
// halves of each head side by side (permute in its class LlamaModel): element
// i of half j is row 2i+j of the head.
func unpaired(heads, headDim int) []int {
	order := make([]int, 0, heads*headDim)
	for h := range heads {
		for j := range 2 {
			for i := range headDim / 2 {
				order = append(order, h*headDim+2*i+j)
			}
		}
	}
	return order
}
