package weights

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

func TestDummy(t *testing.T) {
	p := &gpu.Program{Weights: []gpu.WeightSpec{
		{Name: "m.weight", Shape: []int{40, 300}}, {Name: "n.weight", Shape: []int{64}}, {Name: "n.bias", Shape: []int{64}},
	}}
	for _, d := range []gpu.DType{gpu.F32, gpu.F16, gpu.BF16} {
		a, b, other := Dummy(p, d, 1), Dummy(p, d, 1), Dummy(p, d, 2)
		b.Tensor("n.bias") // the order of asking must not matter
		for _, name := range a.Names() {
			x, err := a.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			y, _ := b.Tensor(name)
			z, _ := other.Tensor(name)
			if string(x.Data) != string(y.Data) || string(x.Data) == string(z.Data) {
				t.Errorf("%s %s: not a function of name and seed", d, name)
			}
			info, _ := a.Info(name)
			if int64(len(x.Data)) != info.Bytes || x.DType != d {
				t.Errorf("%s: %+v has %d bytes", name, info, len(x.Data))
			}
			sum := 0.0
			v := decode(x)
			for _, e := range v {
				sum += e * e
			}
			// Mean square: 1/inputs for a matrix, 1 for gains, small for a bias.
			want := map[string]float64{"m.weight": 1.0 / 300, "n.weight": 1, "n.bias": 0.05 * 0.05 / 3}[name]
			if got := sum / float64(len(v)); got < want*0.7 || got > want*1.4 {
				t.Errorf("%s %s: mean square %g, want about %g", d, name, got, want)
			}
		}
		if _, err := a.Tensor("other"); err == nil {
			t.Error("a tensor that the program does not name")
		}
		h1, _ := a.Hash(t.Context())
		h2, _ := other.Hash(t.Context())
		if h1 == h2 {
			t.Error("hash does not depend on the seed")
		}
	}
	if _, err := Dummy(&gpu.Program{Weights: []gpu.WeightSpec{{Name: "x", Shape: []int{1 << 24, 1 << 17}}}}, gpu.F32, 0).Tensor("x"); err == nil {
		t.Error("a huge tensor was made")
	}
}

// A file keeps vectors in F32, and no block crosses a row.
func TestQuantisedDummy(t *testing.T) {
	p := &gpu.Program{Weights: []gpu.WeightSpec{
		{Name: "m.weight", Shape: []int{40, 512}}, {Name: "odd.weight", Shape: []int{64, 300}}, {Name: "n.weight", Shape: []int{256}},
	}}
	for _, d := range gpu.WeightDTypes() {
		if !d.Quantised() {
			continue
		}
		s := Dummy(p, d, 1)
		for i, want := range []gpu.DType{d, gpu.F16, gpu.F32} {
			w := p.Weights[i]
			x, err := s.Tensor(w.Name)
			if err != nil {
				t.Fatal(err)
			}
			info, _ := s.Info(w.Name)
			if x.DType != want || w.Check(x) != nil || info.Bytes != int64(len(x.Data)) || info.DType != strings.ToUpper(want.String()) {
				t.Errorf("%s: %s is %s (%s), %d of %d bytes, want %s", d, w.Name, x.DType, info.DType, len(x.Data), info.Bytes, want)
			}
		}
		x, _ := s.Tensor("m.weight")
		v, sum := make([]float32, 40*512), 0.0
		quant.Dequantize(d, v, x.Data)
		for _, e := range v {
			sum += float64(e) * float64(e)
		}
		if got := sum / float64(len(v)) * 512; got < 0.8 || got > 1.25 {
			t.Errorf("%s: mean square %g times 1/inputs, want about 1", d, got)
		}
	}
}

// decode turns a tensor into numbers, F16 by its definition.
func decode(x gpu.Tensor) []float64 {
	var v []float64
	for b := x.Data; len(b) > 0; b = b[x.DType.BlockBytes():] {
		switch x.DType {
		case gpu.F32:
			v = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case gpu.BF16:
			v = append(v, float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16)))
		case gpu.F16:
			u := binary.LittleEndian.Uint16(b)
			e := math.Ldexp(1+float64(u&0x3ff)/1024, int(u>>10&0x1f)-15)
			if u&0x7fff == 0 {
				e = 0
			}
			v = append(v, math.Copysign(e, 1-2*float64(u>>15)))
		}
	}
	return v
}
