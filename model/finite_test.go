package model_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/weights"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// bad are bits that are NaN or infinite, and their possible places in a block of
// the type.
var bad = map[gpu.DType]struct {
	bits []byte
	at   []int
}{
	gpu.F32: {[]byte{0, 0, 0x80, 0xff}, []int{0}}, gpu.F16: {[]byte{1, 0x7c}, []int{0}}, gpu.BF16: {[]byte{0x80, 0x7f}, []int{0}},
	gpu.Q8_0: {[]byte{0, 0x7c}, []int{0}}, gpu.Q4_0: {[]byte{0, 0xfc}, []int{0}}, gpu.Q5_0: {[]byte{0, 0x7e}, []int{0}},
	gpu.Q4_1: {[]byte{0, 0x7e}, []int{0, 2}}, gpu.Q5_1: {[]byte{0, 0x7c}, []int{0, 2}},
	gpu.Q2_K: {[]byte{0, 0x7e}, []int{80, 82}}, gpu.Q3_K: {[]byte{0, 0x7c}, []int{108}},
	gpu.Q4_K: {[]byte{0, 0x7e}, []int{0, 2}}, gpu.Q5_K: {[]byte{0, 0x7c}, []int{0, 2}}, gpu.Q6_K: {[]byte{0xff, 0xff}, []int{208}},
	gpu.IQ4_NL: {[]byte{0, 0x7e}, []int{0}}, gpu.IQ4_XS: {[]byte{0, 0x7c}, []int{0}},
}

// spoilt is a file with other bytes at one place of a tensor.
func spoilt(t *testing.T, f ggufwrite.File, tensor string, at int, with []byte) ggufwrite.File {
	t.Helper()
	f.Tensors = slices.Clone(f.Tensors)
	i := slices.IndexFunc(f.Tensors, func(x ggufwrite.Tensor) bool { return x.Name == tensor })
	if i < 0 {
		t.Fatalf("the file has no %s", tensor)
	}
	var data bytes.Buffer
	if err := f.Tensors[i].Data(&data); err != nil {
		t.Fatal(err)
	}
	copy(data.Bytes()[at:], with)
	f.Tensors[i].Data = ggufdata.Bytes(data.Bytes())
	return f
}

func devices(t *testing.T, options ...cpu.Options) []gpu.Device {
	t.Helper()
	list := []gpu.Device{ref.New()}
	for _, o := range options {
		d, err := cpu.New(o)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// refused checks that every device refuses a model, with texts in the error.
func refused(t *testing.T, c *model.Checkpoint, devices []gpu.Device, want ...string) {
	t.Helper()
	for _, d := range devices {
		m, err := d.Load(c.Program, c.Weights, nil)
		if err == nil {
			t.Errorf("%s, %s: loads without %q", d.Info().Kind, d.Info().Fingerprint, want)
			m.Close()
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", d.Info().Kind, err, w)
			}
		}
	}
}

const remedy = "the file is damaged or was converted wrongly: download it again or convert it again"

// A number that is not finite, in a row of a matrix of any type, is refused
// under the names of the file: also in rows that are put in another order.
func TestLoadRefusesWhatIsNotFinite(t *testing.T) {
	all := devices(t, cpu.Options{Threads: 2}, cpu.Options{Threads: 2, Activations: "f32"}, cpu.Options{Threads: 2, WeightDType: "q4_0"})
	for _, d := range gpu.WeightDTypes() {
		t.Run(d.String(), func(t *testing.T) {
			m := ggufwrite.Model{Arch: "llama", Layers: 1, Hidden: 256, Intermediate: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 70, Context: 64, Type: d}
			f, row := m.File(), d.Bytes(256)
			b := bad[d]
			for tensor, rows := range map[string]int{"blk.0.ffn_down.weight": 256, "blk.0.attn_q.weight": 256, "token_embd.weight": 70, "output.weight": 70} {
				for i, r := range []int{0, rows / 2, rows - 1} {
					block := i * (256/d.BlockLen() - 1) / 2 // first, middle, last
					at := r*row + block*d.BlockBytes() + b.at[i%len(b.at)]
					c, err := openAt(written(t, spoilt(t, f, tensor, at, b.bits)), model.OpenOptions{})
					if err != nil {
						t.Fatal(err)
					}
					col := fmt.Sprintf("row %d, column %d is ", r, block)
					if n := d.BlockLen(); n > 1 {
						col = fmt.Sprintf("row %d, columns %d to %d of %s have the ", r, block*n, block*n+n-1, d)
					}
					refused(t, c, all, "small.gguf: tensor ", tensor+" in the file", col, remedy)
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// Norms and biases are vectors, which are not packed.
func TestLoadRefusesVectorsThatAreNotFinite(t *testing.T) {
	m := ggufwrite.Model{Arch: "qwen2", Layers: 2, Hidden: 64, Intermediate: 64, Heads: 2, KVHeads: 1, HeadDim: 32, Vocab: 70, Context: 64, Type: gpu.Q8_0}
	all := devices(t, cpu.Options{Threads: 2})
	for tensor, elements := range map[string]int{"output_norm.weight": 64, "blk.1.attn_norm.weight": 64, "blk.0.attn_k.bias": 32} {
		for _, e := range []int{0, elements / 2, elements - 1} {
			c, err := openAt(written(t, spoilt(t, m.File(), tensor, 4*e, []byte{0, 0, 0x80, 0xff})), model.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			refused(t, c, all, "small.gguf: tensor ", tensor+" in the file", fmt.Sprintf("element %d is -Inf; ", e), remedy)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The same of a directory with safetensors.
func TestLoadRefusesSafetensorsThatAreNotFinite(t *testing.T) {
	const tensor = "model.layers.1.mlp.down_proj.weight" // [24, 40]
	for d, name := range map[gpu.DType]string{gpu.F32: "float32", gpu.F16: "float16", gpu.BF16: "bfloat16"} {
		keys := fmt.Appendf(nil, sizes, "Qwen2ForCausalLM", true, name, 1e4)
		c, err := model.Directory(fstest.MapFS{config.File: {Data: keys}}).Open(model.OpenOptions{LoadFormat: model.LoadDummy})
		if err != nil {
			t.Fatal(err)
		}
		file := store(t, c, nil)
		for _, r := range []int{0, 11, 23} {
			spoilt := slices.Clone(file)
			at := dataOf(t, file, tensor) + (r*40+7)*d.BlockBytes()
			copy(spoilt[at:], bad[d].bits)
			c, err := model.Directory(fstest.MapFS{config.File: {Data: keys}, weights.SingleFile: {Data: spoilt}}).Open(model.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			refused(t, c, devices(t, cpu.Options{Threads: 2}, cpu.Options{Threads: 2, WeightDType: "f16"}),
				fmt.Sprintf("%s: tensor %s: row %d, column 7 is ", weights.SingleFile, tensor, r), remedy)
		}
	}
}

// dataOf is where a tensor's data begins in a safetensors file.
func dataOf(t *testing.T, file []byte, tensor string) int {
	t.Helper()
	var head map[string]struct {
		Offsets []int `json:"data_offsets"`
	}
	n := int(binary.LittleEndian.Uint64(file))
	if err := json.Unmarshal(file[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	return 8 + n + head[tensor].Offsets[0]
}

// Values that are finite in the file but not in another type are refused for that
// type, and load in their own.
func TestLoadRefusesWhatATypeCannotHold(t *testing.T) {
	m := ggufwrite.Model{Arch: "llama", Layers: 1, Hidden: 64, Intermediate: 64, Heads: 2, KVHeads: 1, HeadDim: 32, Vocab: 70, Context: 64, Type: gpu.F32}
	const tensor = "blk.0.ffn_up.weight"
	huge := []byte{0x99, 0x76, 0x96, 0x7e} // 1e38
	c, err := openAt(written(t, spoilt(t, m.File(), tensor, 4*(9*64+40), huge)), model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for held, where := range map[string]string{"q8_0": "columns 32 to 63 reach", "q4_0": "columns 32 to 63 reach", "f16": "column 40 reaches"} {
		refused(t, c, devices(t, cpu.Options{Threads: 2, WeightDType: held})[1:], "small.gguf: tensor ", tensor+" in the file",
			"row 9, "+where+" 1e+38, which is too large for "+held, "weight-dtype f32", "download it again or convert it again")
	}
	for _, d := range devices(t, cpu.Options{Threads: 2}, cpu.Options{Threads: 2, WeightDType: "bf16"}) {
		m, err := d.Load(c.Program, c.Weights, nil)
		if err != nil {
			t.Errorf("%s: %v", d.Info().Fingerprint, err)
			continue
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
