package weights

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// maxDummy bounds a made-up tensor in bytes: four times the largest known one.
const maxDummy = 16 << 30

// Dummy makes random weights for a program, the same for the same seed, type and names,
// in any order of calls. Gains are near 1 and matrices keep the norm of their inputs, so
// that logits are in a usual range. Each call of Tensor makes the tensor anew.
//
// Only matrices have a quantised type, as in files: vectors are F32, and a
// matrix whose rows do not fill blocks is F16.
func Dummy(p *gpu.Program, d gpu.DType, seed uint64) Source {
	s := &dummy{dtype: d, seed: seed, shapes: map[string][]int{}}
	for _, w := range p.Weights {
		s.shapes[w.Name] = w.Shape
		s.names = append(s.names, w.Name)
	}
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	return s
}

type dummy struct {
	dtype  gpu.DType
	seed   uint64
	shapes map[string][]int
	names  []string
}

func (s *dummy) Names() []string { return s.names }

func (s *dummy) Info(name string) (Info, bool) {
	t, err := s.Describe(name)
	if err != nil {
		return Info{}, false
	}
	return Info{Name: name, DType: t.DType.FileName(), Shape: t.Shape, Bytes: int64(t.DType.Bytes(gpu.Elements(t.Shape))), File: "dummy weights"}, true
}

func (s *dummy) dtypeOf(shape []int) gpu.DType {
	switch {
	case !s.dtype.Quantised():
		return s.dtype
	case len(shape) == 1:
		return gpu.F32
	case shape[len(shape)-1]%s.dtype.BlockLen() != 0:
		return gpu.F16
	}
	return s.dtype
}

// Describe implements gpu.StreamedWeights.
func (s *dummy) Describe(name string) (gpu.Tensor, error) {
	shape, ok := s.shapes[name]
	if !ok {
		return gpu.Tensor{}, fmt.Errorf("dummy weights: the program has no tensor %s", name)
	}
	return gpu.Tensor{Name: name, DType: s.dtypeOf(shape), Shape: shape}, nil
}

// Discard implements gpu.StreamedWeights: made-up data is left to the garbage collector.
func (s *dummy) Discard([]byte) {}

// Place implements gpu.PlacedWeights.
func (s *dummy) Place(name string, index int) (string, int) {
	return "dummy weights: tensor " + name, index
}

func (s *dummy) Tensor(name string) (gpu.Tensor, error) {
	t, err := s.Describe(name)
	if err != nil {
		return t, err
	}
	n, d := gpu.Elements(t.Shape), t.DType
	if n/d.BlockLen() > maxDummy/d.BlockBytes() {
		return gpu.Tensor{}, fmt.Errorf("dummy weights: tensor %s of shape %v would take more than %d bytes; use a smaller model", name, t.Shape, int64(maxDummy))
	}
	key := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(name), s.seed))
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])))
	mean, half := spread(name, t.Shape)
	t.Data = make([]byte, d.Bytes(n))
	if d.Quantised() {
		quant.Random(d, t.Data, half/math.Sqrt(3), r.Uint64)
		return t, nil
	}
	data := t.Data[:0]
	for range n {
		data = appendElement(data, d, float32(mean+half*(2*r.Float64()-1)))
	}
	return t, nil
}

// spread returns the middle and the half width of a uniform distribution.
func spread(name string, shape []int) (mean, half float64) {
	switch {
	case len(shape) == 1 && strings.HasSuffix(name, ".bias"):
		return 0, 0.05
	case len(shape) == 1:
		return 1, 0.1
	}
	// Unit rows stay unit rows: variance 1/inputs, half width sqrt(3)
	// deviations. The output matrix is wider, so that tokens differ clearly.
	half = math.Sqrt(3 / float64(shape[len(shape)-1]))
	if name == "lm_head.weight" || name == "model.embed_tokens.weight" {
		half *= 2
	}
	return 0, half
}

func (s *dummy) Hash(context.Context) (string, error) {
	h := sha256.New()
	writeNumber(h, int(s.seed))
	writeString(h, s.dtype.String())
	for _, n := range s.names {
		writeString(h, n)
		for _, d := range s.shapes[n] {
			writeNumber(h, d)
		}
	}
	return "dummy-sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func (s *dummy) Close() error { return nil }

// appendElement rounds to the type (to nearest for F32 and BF16, towards zero
// for F16; the values are well inside its range).
func appendElement(b []byte, d gpu.DType, v float32) []byte {
	u := math.Float32bits(v)
	switch d {
	case gpu.BF16:
		return binary.LittleEndian.AppendUint16(b, gpu.ToBF16(v))
	case gpu.F16:
		sign, exp, frac := uint16(u>>16&0x8000), int(u>>23&0xff)-127+15, uint16(u>>13&0x3ff)
		if exp <= 0 {
			return binary.LittleEndian.AppendUint16(b, sign)
		}
		return binary.LittleEndian.AppendUint16(b, sign|uint16(exp)<<10|frac)
	}
	return binary.LittleEndian.AppendUint32(b, u)
}
