package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
)

// A device copies the weights of a GGUF file one after the other, as it does
// those of a directory: each is described without its data, and errors keep
// the file's names.
func TestGGUFWeightsAreStreamed(t *testing.T) {
	m := ggufwrite.Model{Arch: "llama", Layers: 1, Hidden: 64, Intermediate: 64, Heads: 2, KVHeads: 1, HeadDim: 32, Vocab: 300, Context: 64, Type: gpu.Q8_0}
	c, err := openAt(written(t, m.File()), model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var w gpu.Weights = c.Weights
	s, is := w.(gpu.StreamedWeights)
	if !is {
		t.Fatal("they are not")
	}
	for _, spec := range c.Program.Weights {
		d, err := s.Describe(spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Tensor(spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		if d.Data != nil || d.DType != x.DType || !slices.Equal(d.Shape, x.Shape) {
			t.Errorf("%s is described as %s %v and is %s %v", spec.Name, d.DType, d.Shape, x.DType, x.Shape)
		}
	}
	if _, err := s.Describe("model.layers.7.mlp.up_proj.weight"); err == nil || !strings.Contains(err.Error(), "blk.7.ffn_up.weight is missing") {
		t.Errorf("a tensor that is not there: %v", err)
	}
}
