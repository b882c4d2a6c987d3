package hf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
)

// rope carries over base and scaling. As in llama.cpp a factor without a type is linear.
func (k *keys) rope() {
	k.take("rope_theta", "rope.freq_base")
	k.out.Names["rope_scaling"] = k.arch + ".rope.scaling.type"
	k.out.Names["rope_scaling.factor"] = k.arch + ".rope.scaling.factor"
	kind := k.text(k.arch + ".rope.scaling.type")
	if kind == "none" {
		return
	}
	for _, key := range []string{".rope.scaling.factor", ".rope.scale_linear"} {
		v, ok := k.f.Value(k.arch + key)
		if !ok {
			continue
		}
		if factor, ok := v.Float(); kind == "" && ok && (factor == 0 || factor == 1) {
			continue
		}
		if kind == "" {
			kind = "linear"
		}
		k.out.Names["rope_scaling.factor"] = k.arch + key
		k.out.Values["rope_scaling.factor"] = k.plain(k.arch+key, v)
		break
	}
	if kind == "" {
		return
	}
	k.out.Values["rope_scaling.type"] = kind
	k.take("rope_scaling.original_max_position_embeddings", "rope.scaling.original_context_length")
}

// ropeFactors reads the form that Llama 3.1's scaling has in GGUF files: a tensor
// of divisors of the frequencies.
func ropeFactors(f *gguf.File, c *config.Config) error {
	t := f.Tensor(freqFactors)
	if t == nil {
		return nil
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: tensor %s %s", t.File, t.Name, fmt.Sprintf(format, args...))
	}
	if c.Rope.Scaling != "default" {
		return fail("has rope factors, but the file also has rope scaling %q; both together are not supported; use another model", c.Rope.Scaling)
	}
	if t.Type != gpu.F32 || !slices.Equal(t.Dims, []int{c.HeadDim / 2}) {
		return fail("has type %s and shape %v; it must be F32 of shape [%d], half of a head; use the model's original file", t.Type.FileName(), t.Dims, c.HeadDim/2)
	}
	data, err := t.Blob.Bytes(t.At, t.Bytes)
	if err != nil {
		return fail("cannot be read: %v", err)
	}
	c.Rope.Scaling, c.Rope.Factors = "factors", make([]float32, c.HeadDim/2)
	for i := range c.Rope.Factors {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !(v >= 1e-6 && v <= 1e6) {
			return fail("has the value %g at index %d; it must be between 1e-6 and 1e6; download it again", v, i)
		}
		c.Rope.Factors[i] = v
	}
	return nil
}
