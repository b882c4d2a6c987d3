package weights

import (
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
)

func BenchmarkDummy(b *testing.B) {
	p := &gpu.Program{Weights: []gpu.WeightSpec{{Name: "m.weight", Shape: []int{1024, 1024}}}}
	b.SetBytes(2 << 20)
	for b.Loop() {
		if _, err := Dummy(p, gpu.BF16, 1).Tensor("m.weight"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	data := make([]byte, 16<<20)
	s, err := Open(fstest.MapFS{SingleFile: {Data: build(item{"a", "BF16", []int{4 << 20}, data[8<<20:]}, item{"b", "BF16", []int{4 << 20}, data[8<<20:]})}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, err := hashTensors(b.Context(), s.(*files), false); err != nil {
			b.Fatal(err)
		}
	}
}
