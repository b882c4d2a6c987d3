//go:build cuda

package cuda

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// opened is the device over the emulation. The caller closes it.
func opened(t *testing.T, o Options) Device {
	t.Helper()
	library, err := cudaemu.Build("kernels", cudaemu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Library = library
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// loaded is a model with a pool on the emulation.
func loaded(t *testing.T, o Options, s gputest.Shape, spec gpu.PoolSpec) *model {
	t.Helper()
	d := opened(t, o)
	p, w := gputest.Build(s, 1)
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.(*model)
}

// kernelsOf names the kernels of launches for some rows, in order.
func kernelsOf(list []launch, rows int) string {
	var names []string
	for i := range list {
		names = append(names, list[i].form(rows).function.Name())
	}
	return strings.Join(names, " ")
}

// What a layer takes: products on tensor cores read what the op before them has rounded.
func TestKernelsOfALayer(t *testing.T) {
	shape := gputest.Shape{Name: "layer", Vocab: 40, Hidden: 64, Layers: 1, Heads: 4, KVHeads: 2, HeadDim: 16, Intermediate: 104, Context: 64, QKNorm: true, DType: gpu.BF16}
	odd := shape
	odd.Hidden, odd.Intermediate = 60, 100
	for _, c := range []struct {
		name       string
		options    Options
		shape      gputest.Shape
		kv         gpu.DType
		rows       int
		body, tail string
	}{
		{"decode", Options{}, shape, gpu.BF16, 8,
			"embed_bf16 rmsnorm_round_bf16 gemm_few8_bf16 rmsnorm rmsnorm rope_store_kv_bf16 " +
				"attention_decode_bf16_64 attention_prompt_bf16_64 gemm_few8_bf16 rmsnorm_round_bf16 gemm_few8_bf16 silu_mul_round_bf16 gemm_few8_bf16",
			"gather rmsnorm_round_bf16 gemm_few8_bf16"},
		{"sixteen rows", Options{}, shape, gpu.I8, 9,
			"embed_bf16 rmsnorm_round_bf16 gemm_few16_bf16 rmsnorm rmsnorm rope_store_kv_i8 " +
				"attention_decode_i8_64 attention_prompt_i8_64 gemm_few16_bf16 rmsnorm_round_bf16 gemm_few16_bf16 silu_mul_round_bf16 gemm_few16_bf16",
			"gather rmsnorm_round_bf16 gemm_few16_bf16"},
		{"a pool of float32", Options{}, shape, gpu.F32, 64,
			"embed_bf16 rmsnorm_round_bf16 gemm_wgmma64_bf16 rmsnorm rmsnorm rope_store_kv_f32 " +
				"attention_f32 round_bf16 gemm_wgmma64_bf16 rmsnorm_round_bf16 gemm_wgmma64_bf16 silu_mul_round_bf16 gemm_wgmma64_bf16",
			"gather rmsnorm_round_bf16 gemm_wgmma64_bf16"},
		{"many rows", Options{}, shape, gpu.BF16, 600,
			"embed_bf16 rmsnorm_round_bf16 gemm_wgmma256_bf16 rmsnorm rmsnorm rope_store_kv_bf16 " +
				"attention_decode_bf16_64 attention_prompt_bf16_64 gemm_wgmma256_bf16 rmsnorm_round_bf16 gemm_wgmma256_bf16 silu_mul_round_bf16 gemm_wgmma256_bf16",
			"gather rmsnorm_round_bf16 gemm_wgmma256_bf16"},
		{"widths that are no multiples of 8", Options{Ampere: true}, odd, gpu.F16, 65,
			"embed_bf16 rmsnorm linear_bf16 linear_bf16 linear_bf16 rmsnorm rmsnorm rope_store_kv_f16 " +
				"attention_decode_f16_64 attention_prompt_f16_64 gemm128_bf16 rmsnorm linear_bf16 linear_bf16 silu_mul linear_bf16",
			"gather rmsnorm linear_bf16"},
		{"plain", Options{Plain: true}, shape, gpu.BF16, 1,
			"embed_bf16 rmsnorm linear_bf16 linear_bf16 linear_bf16 rmsnorm rmsnorm rope rope store_kv_bf16 " +
				"attention_bf16 linear_bf16 rmsnorm linear_bf16 linear_bf16 silu_mul linear_bf16",
			"gather rmsnorm linear_bf16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := loaded(t, c.options, c.shape, gpu.PoolSpec{PageSize: 4, Pages: 8, DType: c.kv})
			if got := kernelsOf(m.body, c.rows); got != c.body {
				t.Errorf("the layer has\n%s, want\n%s", got, c.body)
			}
			if got := kernelsOf(m.tails[0], c.rows); got != c.tail {
				t.Errorf("the outputs have\n%s, want\n%s", got, c.tail)
			}
		})
	}
}

// A plan of the memory has room for what a pool takes, and not for much more.
func TestStepBytes(t *testing.T) {
	for _, o := range []Options{{NoGraphs: true}, {Plain: true, NoGraphs: true}} {
		for _, s := range gputest.Shapes() {
			spec := gpu.PoolSpec{PageSize: 4, Pages: 8, DType: gpu.BF16}
			m := loaded(t, o, s, spec)
			took := int64(0)
			for what, n := range m.Bytes() {
				if what != "kv" && what != "weights" {
					took += n
				}
			}
			d := &device{options: m.options, multiprocessors: m.device.Description().Multiprocessors}
			if planned := d.StepBytes(m.program, m.pool.spec); planned < took || planned > 2*took {
				t.Errorf("%s, plain %v: %d bytes were planned, a pool took %d", s.Name, o.Plain, planned, took)
			}
		}
	}
}
