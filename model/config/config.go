// Package config reads config.json and generation_config.json of a Hugging Face model
// directory.
//
// Features that are not implemented exactly (architectures, rope scalings, sliding
// windows, quantisation) are refused by name, never approximated. Every size is
// bounded, so that a hostile file can cause neither an overflow nor an absurd
// allocation. Keys that do not change results are ignored, as in Hugging Face.
//
// # Parts
//
//	config           Config, Load, the number of parameters
//	parse, rope      config.json; rope_scaling in it
//	architectures    the implemented ones and how they differ
//	generation       generation_config.json
//	fields, keys     typed values of a JSON object; keys of another format
package config

import (
	"io/fs"

	"github.com/troupe-engine/troupe/gpu"
)

// File names in a model directory.
const (
	File           = "config.json"
	GenerationFile = "generation_config.json"
)

// Config describes a decoder-only transformer of the Llama family. Immutable after Load.
type Config struct {
	Architecture string // as config.json spells it, "LlamaForCausalLM"

	Vocab        int // rows of the embedding
	Hidden       int // width of the residual stream
	Intermediate int // width of the gated MLP
	Layers       int
	Heads        int // query heads
	KVHeads      int // divides Heads
	HeadDim      int // even; Heads x HeadDim need not be Hidden
	Context      int // positions at most, after Options.Context

	NormEps float32
	Rope    Rope

	QKVBias bool // q_proj, k_proj, v_proj
	OutBias bool // o_proj
	MLPBias bool // gate_proj, up_proj, down_proj
	QKNorm  bool // RMSNorm of each query and key head before rope
	Tied    bool // the output matrix is the embedding

	// DType is the type of the weights according to the file, F32 if it has none.
	// The weights' own types count; this one is for dummy weights.
	DType gpu.DType

	BOS int32   // begins a text; NoToken for none
	EOS []int32 // end an output; generation_config.json wins over config.json

	Generation Generation
}

// NoToken means a special token that the model does not have.
const NoToken int32 = -1

// Rope defines how positions rotate queries and keys.
type Rope struct {
	Theta   float64
	Scaling string // "default", "linear", "llama3" or "factors"
	// Factor divides frequencies: for linear all, for llama3 the low ones; 1 for default.
	Factor float64
	// The rest is for llama3: wavelengths above Original/LowFreq are scaled
	// fully, those below Original/HighFreq not at all.
	LowFreq, HighFreq float64
	Original          int // context before scaling
	// Factors divide the frequency of each pair, HeadDim/2 of them; for the
	// scaling "factors", the form of llama3 in GGUF files.
	Factors []float32
}

// Options of Load.
type Options struct {
	// Context lowers the number of positions, in tokens; 0: the model's.
	// Hard: a larger one than the model's is refused. Example: 4096 serves a
	// model with a sliding window of 4096 exactly.
	Context int
}

// Load reads config.json, and generation_config.json if there is one.
// Errors name the file, the key, the value and the remedy.
func Load(fsys fs.FS, o Options) (*Config, error) {
	f, err := readFields(fsys, File)
	if err != nil {
		return nil, err
	}
	c, err := parse(f, o)
	if err != nil {
		return nil, err
	}
	g, err := readFields(fsys, GenerationFile)
	if err == nil {
		err = c.applyGeneration(g)
	}
	if err != nil && !isMissing(err) {
		return nil, err
	}
	return c, nil
}

// Parameters counts the elements of all weights.
func (c *Config) Parameters() int64 {
	h, q, kv, m := int64(c.Hidden), int64(c.Heads)*int64(c.HeadDim), int64(c.KVHeads)*int64(c.HeadDim), int64(c.Intermediate)
	layer := 2*h + 2*h*q + 2*h*kv + 3*h*m
	if c.QKVBias {
		layer += q + 2*kv
	}
	if c.OutBias {
		layer += h
	}
	if c.MLPBias {
		layer += 2*m + h
	}
	if c.QKNorm {
		layer += 2 * int64(c.HeadDim)
	}
	n := int64(c.Layers)*layer + h + int64(c.Vocab)*h
	if !c.Tied {
		n += int64(c.Vocab) * h
	}
	return n
}
