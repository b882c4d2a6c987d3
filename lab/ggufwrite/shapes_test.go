package ggufwrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
)

// TestMediumModels: which matrices are finer, as in files of kind Q4_K_M.
func TestMediumModels(t *testing.T) {
	m := ggufwrite.Model{Arch: "llama", Layers: 16, Hidden: 256, Intermediate: 512, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 300, Context: 64, Type: gpu.Q4_K, Medium: true}
	for _, tied := range []bool{false, true} {
		m.Tied = tied
		var layers []string
		for _, x := range m.File().Tensors {
			finer := x.Type == gpu.Q6_K
			part := x.Name[strings.LastIndex(strings.TrimSuffix(x.Name, ".weight"), ".")+1:]
			switch {
			case x.Name == "token_embd.weight" && finer == tied, x.Name == "output.weight" && finer:
			case finer && part == "ffn_down.weight":
				layers = append(layers, strings.Split(x.Name, ".")[1])
			case finer && part == "attn_v.weight":
			case finer || x.Name == "token_embd.weight" || x.Name == "output.weight":
				t.Errorf("tied %v: %s is %s", tied, x.Name, x.Type)
			}
		}
		if have := fmt.Sprint(layers); have != "[0 1 4 7 10 13 14 15]" {
			t.Errorf("finer layers are %s", have)
		}
	}
}
