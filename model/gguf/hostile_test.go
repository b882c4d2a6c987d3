package gguf_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// patch overwrites a file with numbers after a text in it.
func patch(data []byte, after string, skip int, value any) []byte {
	out := slices.Clone(data)
	at := bytes.Index(out, []byte(after)) + len(after) + skip
	b, err := binary.Append(nil, binary.LittleEndian, value)
	if err != nil {
		panic(err)
	}
	copy(out[at:], b)
	return out
}

func TestRefused(t *testing.T) {
	plain := written(t, sample())
	one := func(key string, value any) []byte {
		return written(t, ggufwrite.File{Keys: ggufwrite.Keys(key, value)})
	}
	tensor := func(d gpu.DType, shape ...int) []byte {
		x := ggufwrite.Tensor{Name: "the.tensor", Type: d, Shape: shape}
		x.Data = ggufdata.Bytes(make([]byte, x.Bytes()))
		return written(t, ggufwrite.File{Tensors: []ggufwrite.Tensor{x}})
	}
	matrix := tensor(gpu.Q8_0, 4, 64) // name, u32 dimensions, 2 x u64, u32 type, u64 offset
	const name = "the.tensor"
	for what, c := range map[string]struct {
		data []byte
		want []string
	}{
		"empty":                {nil, []string{"0 bytes", "incomplete"}},
		"short":                {plain[:7], []string{"7 bytes"}},
		"no GGUF":              {[]byte("{\"a\": 1}    "), []string{"not a GGUF file"}},
		"Git LFS":              {[]byte("version https://git-lfs.github.com/spec/v1"), []string{"git lfs pull"}},
		"GGML":                 {[]byte("lmgg    "), []string{"older than GGUF"}},
		"version 1":            {patch(plain, "GGUF", 0, uint32(1)), []string{"version 1", "obsolete"}},
		"version 4":            {patch(plain, "GGUF", 0, uint32(4)), []string{"version 4", "supported: 2 and 3"}},
		"version 0":            {patch(plain, "GGUF", 0, uint32(0)), []string{"version 0"}},
		"big-endian":           {patch(plain, "GGUF", 0, uint32(3<<24)), []string{"big-endian", "little-endian"}},
		"tensors":              {patch(plain, "GGUF", 4, uint64(math.MaxUint64)), []string{"byte 8", "18446744073709551615 tensors"}},
		"keys":                 {patch(plain, "GGUF", 12, uint64(1<<62)), []string{"byte 16", "metadata keys"}},
		"more tensors":         {patch(plain, "GGUF", 4, uint64(4)), []string{"tensor 3"}},
		"key length":           {patch(plain, "GGUF", 20, uint64(1<<63)), []string{"byte 24", "key 0", "damaged"}},
		"key kind":             {patch(plain, "u8", 0, uint32(13)), []string{"key u8", "type 13"}},
		"bool":                 {patch(plain, "yes", 4, uint8(2)), []string{"key yes", "bool of value 2"}},
		"text length":          {patch(plain, "text", 4, uint64(1<<40)), []string{"key text", "declares 1099511627776 bytes"}},
		"array kind":           {patch(plain, "ints", 4, uint32(99)), []string{"key ints", "type 99"}},
		"array length":         {patch(plain, "ints", 8, uint64(1<<61)), []string{"key ints", "2305843009213693952 elements"}},
		"text in array":        {patch(plain, "texts", 16, uint64(1<<50)), []string{"key texts"}},
		"nesting":              {one("deep", [][][][][]int32{{{{{1}}}}}), []string{"key deep", "4 deep"}},
		"key with a space":     {one("a b", true), []string{`"a b"`, "ASCII"}},
		"empty key":            {one("", true), []string{"empty"}},
		"key twice":            {written(t, ggufwrite.File{Keys: ggufwrite.Keys("x", true, "x", false)}), []string{"key \"x\" is empty or appears twice"}},
		"alignment 0":          {one("general.alignment", uint32(0)), []string{"general.alignment is 0"}},
		"alignment 24":         {one("general.alignment", uint32(24)), []string{"power of two"}},
		"alignment text":       {one("general.alignment", "32"), []string{`general.alignment is "32"`}},
		"alignment huge":       {one("general.alignment", uint32(1<<31)), []string{"power of two"}},
		"cut off in keys":      {plain[:200], []string{"incomplete"}},
		"cut off in data":      {plain[:len(plain)-40], []string{"incomplete", "tensor"}},
		"no dimensions":        {patch(matrix, name, 0, uint32(0)), []string{name, "0 dimensions"}},
		"five dimensions":      {patch(matrix, name, 0, uint32(5)), []string{name, "5 dimensions"}},
		"dimension 0":          {patch(matrix, name, 4, uint64(0)), []string{name, "dimension of 0"}},
		"dimension 2^63":       {patch(matrix, name, 12, uint64(1<<63)), []string{name, "dimension of 9223372036854775808"}},
		"too large to count":   {patch(tensor(gpu.F32, 1, 1, 1, 1), name, 4, [4]uint64{1 << 30, 1 << 30, 1 << 30, 1 << 30}), []string{name, "which are too large"}},
		"rows of half a block": {patch(matrix, name, 4, uint64(48)), []string{name, "rows of 48", "Q8_0"}},
		"type of no number":    {patch(matrix, name, 20, uint32(1000)), []string{name, "number 1000", "Q4_K"}},
		"type not implemented": {patch(matrix, name, 20, uint32(16)), []string{name, "IQ2_XXS is not supported", "supported: F32, F16, BF16, Q8_0"}},
		"unaligned":            {patch(matrix, name, 24, uint64(8)), []string{name, "alignment of 32"}},
		"offset":               {patch(matrix, name, 24, uint64(1<<63)), []string{name, "beyond the largest possible file"}},
		"offset beyond":        {patch(matrix, name, 24, uint64(1<<40)), []string{name, "incomplete"}},
		"more data":            {patch(matrix, name, 12, uint64(1<<20)), []string{name, "incomplete"}},
		"name twice":           {written(t, ggufwrite.File{Tensors: []ggufwrite.Tensor{sample().Tensors[0], sample().Tensors[0]}}), []string{"tensor a appears twice in the list"}},
		"name too long":        {written(t, ggufwrite.File{Tensors: []ggufwrite.Tensor{{Name: strings.Repeat("x", 65), Shape: []int{1}, Data: ggufdata.Floats(1)}}}), []string{"65 bytes", "64"}},
		"name of spaces":       {written(t, ggufwrite.File{Tensors: []ggufwrite.Tensor{{Name: " ", Shape: []int{1}, Data: ggufdata.Floats(1)}}}), []string{"not printable"}},
		"overlap": {written(t, ggufwrite.File{Tensors: []ggufwrite.Tensor{
			{Name: "first", Shape: []int{16}, Data: ggufdata.Floats(make([]float32, 16)...)},
			{Name: "second", Shape: []int{8}, Data: ggufdata.Floats(make([]float32, 8)...)},
		}}), nil},
	} {
		data := c.data
		if what == "overlap" {
			data = patch(data, "second", 16, uint64(32))
			c.want = []string{"tensor second", "inside tensor first"}
		}
		_, err := opened(data)
		if err == nil {
			t.Errorf("%s: opened", what)
			continue
		}
		for _, w := range append(c.want, "m.gguf") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", what, err, w)
			}
		}
	}
}

// TestHugeCounts: a number in a file costs no memory.
func TestHugeCounts(t *testing.T) {
	plain := written(t, sample())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, data := range [][]byte{
		patch(plain, "GGUF", 4, uint64(1<<40)), patch(plain, "GGUF", 12, uint64(1<<40)),
		patch(plain, "ints", 8, uint64(1<<31-1)), patch(plain, "texts", 8, uint64(1<<31-1)), patch(plain, "text", 4, uint64(1<<31)),
	} {
		if _, err := opened(data); err == nil {
			t.Error("opened")
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated for 5 files of %d", n, len(plain))
	}
}

// FuzzOpen: no input makes the parser fail otherwise than by an error, and what
// it accepts lies within the file.
func FuzzOpen(f *testing.F) {
	plain := written(f, sample())
	f.Add(plain)
	f.Add(plain[:100])
	s := sample()
	s.Version, s.Alignment = 2, 8
	f.Add(written(f, s))
	m := ggufwrite.Model{Arch: "llama", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 257, Context: 8, Type: gpu.Q4_0}
	f.Add(written(f, m.File()))
	f.Add(patch(plain, "ints", 8, uint64(1<<61)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := opened(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "m.gguf") && !strings.HasPrefix(err.Error(), "part ") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		for _, x := range file.Tensors {
			if _, err := x.Blob.Bytes(x.At, x.Bytes); err != nil {
				t.Errorf("tensor %s: %v", x.Name, err)
			}
		}
		for _, key := range file.Keys() {
			v, _ := file.Value(key)
			touch(v)
		}
	})
}

func touch(v gguf.Value) {
	_, _ = v.Int()
	_, _ = v.Float()
	_, _ = v.Bool()
	_, _ = v.Text()
	_, _ = v.Texts()
	_, _ = v.Ints()
	_, _ = v.Floats()
	_ = v.String()
}
