package quant_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// The encoders give, byte for byte, the files that llama.cpp quantised from the
// same model.
func TestConformanceOfEncoders(t *testing.T) {
	files := os.DirFS(conformance.Path(t, "weights", "quant"))
	open := func(name string) *gguf.File {
		f, err := gguf.Open(files, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	data := func(x *gguf.Tensor) []byte {
		b, err := x.Blob.Bytes(x.At, x.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	source := open("tiny-llama-BF16.gguf")
	for name, d := range map[string]gpu.DType{"tiny-llama-Q8_0.gguf": gpu.Q8_0, "tiny-llama-Q4_0.gguf": gpu.Q4_0} {
		compared := 0
		for _, want := range open(name).Tensors {
			from := source.Tensor(want.Name)
			if want.Type != d || from == nil {
				continue
			}
			x := make([]float32, from.Bytes/int64(from.Type.BlockBytes())*int64(from.Type.BlockLen()))
			quant.Dequantize(from.Type, x, data(from))
			got := make([]byte, want.Bytes)
			quant.Quantize(d, got, x)
			if !bytes.Equal(got, data(&want)) {
				t.Errorf("%s: tensor %s differs", name, want.Name)
			}
			compared++
		}
		if compared < 10 {
			t.Errorf("%s: only %d tensors of %s", name, compared, d)
		}
	}
}
