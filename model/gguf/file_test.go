package gguf_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// written returns a file's bytes.
func written(tb testing.TB, f ggufwrite.File) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, f); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func opened(data []byte) (*gguf.File, error) {
	return gguf.Open(fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf")
}

// sample has a value of every kind and tensors of several types.
func sample() ggufwrite.File {
	return ggufwrite.File{
		Keys: ggufwrite.Keys(
			"u8", uint8(200), "i8", int8(-3), "u16", uint16(60000), "i16", int16(-300), "u32", uint32(1<<31), "i32", int32(-5),
			"u64", uint64(1<<40), "i64", int64(-1<<40), "f32", float32(1.5), "f64", 2.25, "yes", true, "no", false, "text", "grüß",
			"texts", []string{"a", "", "längeres"}, "floats", []float32{1, -2.5}, "ints", []int32{1, -2, 3}, "none", []string{},
			"nested", [][]int32{{1}, {2, 3}}, "bools", []bool{true, false},
		),
		Tensors: []ggufwrite.Tensor{
			{Name: "a", Type: gpu.F32, Shape: []int{2, 3}, Data: ggufdata.Floats(1, 2, 3, 4, 5, 6)},
			{Name: "b", Type: gpu.Q8_0, Shape: []int{3, 64}, Data: ggufwrite.Random(gpu.Q8_0, 192, 0, 1, 1)},
			{Name: "c", Type: gpu.BF16, Shape: []int{5}, Data: ggufwrite.Random(gpu.BF16, 5, 0, 1, 2)},
		},
	}
}

func TestOpen(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		for _, align := range []int{0, 8, 4096} {
			s := sample()
			s.Version, s.Alignment = version, align
			data := written(t, s)
			f, err := opened(data)
			if err != nil {
				t.Fatal(err)
			}
			if f.Version != version || len(f.Tensors) != 3 || f.Keys()[len(f.Keys())-1] != "bools" {
				t.Fatalf("version %d, %d tensors, keys %v", f.Version, len(f.Tensors), f.Keys())
			}
			checkValues(t, f)
			b := f.Tensor("b")
			if b.Type != gpu.Q8_0 || !slices.Equal(b.Shape(), []int{3, 64}) || !slices.Equal(b.Dims, []int{64, 3}) || b.Bytes != 3*2*34 {
				t.Errorf("tensor b: %+v", b)
			}
			for i, x := range s.Tensors {
				var want bytes.Buffer
				if err := x.Data(&want); err != nil {
					t.Fatal(err)
				}
				got, err := f.Tensors[i].Blob.Bytes(f.Tensors[i].At, f.Tensors[i].Bytes)
				if err != nil || !bytes.Equal(got, want.Bytes()) {
					t.Errorf("alignment %d: data of %s differs (%v)", align, x.Name, err)
				}
			}
			if f.Tensor("d") != nil {
				t.Error("found a tensor that is not there")
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func checkValues(t *testing.T, f *gguf.File) {
	t.Helper()
	value := func(key string) gguf.Value {
		v, ok := f.Value(key)
		if !ok {
			t.Fatalf("no key %s", key)
		}
		return v
	}
	for key, want := range map[string]int64{"u8": 200, "i8": -3, "u16": 60000, "i16": -300, "u32": 1 << 31, "i32": -5, "u64": 1 << 40, "i64": -1 << 40} {
		if n, ok := value(key).Int(); !ok || n != want {
			t.Errorf("%s is %d, want %d", key, n, want)
		}
		if n, ok := value(key).Float(); !ok || n != float64(want) {
			t.Errorf("%s is %g, want %d", key, n, want)
		}
	}
	for key, want := range map[string]float64{"f32": 1.5, "f64": 2.25} {
		if n, ok := value(key).Float(); !ok || n != want {
			t.Errorf("%s is %g, want %g", key, n, want)
		}
		if _, ok := value(key).Int(); ok {
			t.Errorf("%s is an integer", key)
		}
	}
	for key, want := range map[string]bool{"yes": true, "no": false} {
		if b, ok := value(key).Bool(); !ok || b != want {
			t.Errorf("%s is %v", key, b)
		}
	}
	if s, ok := value("text").Text(); !ok || s != "grüß" {
		t.Errorf("text is %q", s)
	}
	if s, ok := value("texts").Texts(); !ok || !slices.Equal(s, []string{"a", "", "längeres"}) {
		t.Errorf("texts are %q", s)
	}
	if s, ok := value("none").Texts(); !ok || len(s) != 0 {
		t.Errorf("none are %q", s)
	}
	if s, ok := value("floats").Floats(); !ok || !slices.Equal(s, []float32{1, -2.5}) {
		t.Errorf("floats are %v", s)
	}
	if s, ok := value("ints").Ints(); !ok || !slices.Equal(s, []int64{1, -2, 3}) {
		t.Errorf("ints are %v", s)
	}
	if s, ok := value("ints").Floats(); !ok || !slices.Equal(s, []float32{1, -2, 3}) {
		t.Errorf("ints as floats are %v", s)
	}
	for _, key := range []string{"nested", "bools", "texts", "text", "f32"} {
		if _, ok := value(key).Ints(); ok {
			t.Errorf("%s is a list of integers", key)
		}
	}
	if v := value("nested"); v.Elem != gguf.Array || v.Len != 2 {
		t.Errorf("nested is %+v", v)
	}
	missing, _ := f.Value("missing")
	if _, ok := missing.Int(); ok {
		t.Error("a missing value is an integer")
	}
}

// TestOpenSplit: parts in any order give one model.
func TestOpenSplit(t *testing.T) {
	parts := func(count int, change func(i int, f *ggufwrite.File)) fstest.MapFS {
		fsys := fstest.MapFS{}
		all := sample().Tensors
		for i := range 3 {
			f := ggufwrite.File{Keys: ggufwrite.Keys("split.no", uint16(i), "split.count", uint16(count), "split.tensors.count", int32(3)), Tensors: all[i : i+1]}
			if i == 0 {
				f.Keys = append(f.Keys, sample().Keys...)
			}
			if change != nil {
				change(i, &f)
			}
			fsys["m-0000"+string(rune('1'+i))+"-of-00003.gguf"] = &fstest.MapFile{Data: written(t, f)}
		}
		return fsys
	}
	for _, name := range []string{"m-00001-of-00003.gguf", "m-00003-of-00003.gguf"} {
		f, err := gguf.Open(parts(3, nil), name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != "m-00001-of-00003.gguf" || len(f.Tensors) != 3 || f.Tensor("c").File != "m-00003-of-00003.gguf" {
			t.Errorf("%s: %s with %d tensors", name, f.Name, len(f.Tensors))
		}
		checkValues(t, f)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	missing := parts(3, nil)
	delete(missing, "m-00002-of-00003.gguf")
	renamed := parts(3, nil)
	renamed["m.gguf"] = renamed["m-00001-of-00003.gguf"]
	for what, c := range map[string]struct {
		fsys fstest.MapFS
		name string
		want []string
	}{
		"missing part":  {missing, "m-00001-of-00003.gguf", []string{"part 2 of 3", "m-00002-of-00003.gguf"}},
		"renamed":       {renamed, "m.gguf", []string{"m.gguf", "-00001-of-00003.gguf"}},
		"tensor twice":  {parts(3, func(_ int, f *ggufwrite.File) { f.Tensors = sample().Tensors[:1] }), "m-00001-of-00003.gguf", []string{"tensor a", "is also in m-00001", "download all of them from the same place"}},
		"wrong number":  {parts(3, func(i int, f *ggufwrite.File) { f.Keys[0].Value = uint16(0) }), "m-00001-of-00003.gguf", []string{"m-00002", "part 1 of 3", "2 of 3"}},
		"tensors":       {parts(3, func(i int, f *ggufwrite.File) { f.Keys[2].Value = int32(4) }), "m-00001-of-00003.gguf", []string{"split.tensors.count is 4", "3 tensors"}},
		"too many":      {parts(5000, nil), "m-00001-of-00003.gguf", []string{"split.count is 5000"}},
		"not the count": {parts(4, nil), "m-00001-of-00003.gguf", []string{"4 parts"}},
	} {
		_, err := gguf.Open(c.fsys, c.name)
		if err == nil {
			t.Errorf("%s: opened", what)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", what, err, w)
			}
		}
	}
}

// TestOpenOfDisk: a mapped file and one in memory say the same.
func TestOpenOfDisk(t *testing.T) {
	dir := t.TempDir()
	if err := ggufwrite.Create(filepath.Join(dir, "m.gguf"), sample()); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(os.DirFS(dir), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, f)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := gguf.Open(os.DirFS(dir), "x.gguf"); err == nil || !strings.Contains(err.Error(), "cannot open x.gguf") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestAnyFile: whatever is written is read.
func TestAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f ggufwrite.File
		f.Alignment = rapid.SampledFrom([]int{0, 8, 64}).Draw(t, "alignment")
		want := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,8}(\.[a-z]{1,8})?`), rapid.ID[string]).Draw(t, "keys") {
			var v any
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				v = rapid.Int32().Draw(t, "int")
			case 1:
				v = rapid.String().Draw(t, "text")
			case 2:
				v = rapid.SliceOf(rapid.StringN(0, 5, 12)).Draw(t, "texts")
			case 3:
				v = rapid.SliceOf(rapid.Float32()).Draw(t, "floats")
			}
			want[name] = v
			f.Keys = append(f.Keys, ggufwrite.Key{Name: name, Value: v})
		}
		types := gpu.WeightDTypes()
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9._]{1,20}`), 0, 6, rapid.ID[string]).Draw(t, "tensors") {
			d := rapid.SampledFrom(types).Draw(t, "type")
			shape := []int{rapid.IntRange(1, 5).Draw(t, "rows"), d.BlockLen() * rapid.IntRange(1, 3).Draw(t, "blocks")}
			f.Tensors = append(f.Tensors, ggufwrite.Tensor{Name: name, Type: d, Shape: shape, Data: ggufwrite.Random(d, int64(shape[0]*shape[1]), 0, 1, 1)})
		}
		var b bytes.Buffer
		if err := ggufwrite.Write(&b, f); err != nil {
			t.Fatal(err)
		}
		got, err := opened(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			v, _ := got.Value(name)
			var x any
			switch w.(type) {
			case int32:
				n, _ := v.Int()
				x = int32(n)
			case string:
				x, _ = v.Text()
			case []string:
				x, _ = v.Texts()
			case []float32:
				x, _ = v.Floats()
			}
			if fmt.Sprint(x) != fmt.Sprint(w) {
				t.Fatalf("%s is %v, want %v", name, x, w)
			}
		}
		for i, w := range f.Tensors {
			if g := got.Tensors[i]; g.Name != w.Name || g.Type != w.Type || g.Bytes != w.Bytes() || !slices.Equal(g.Shape(), w.Shape) {
				t.Fatalf("tensor %+v, want %+v", g, w)
			}
		}
	})
}

// TestModels: the writer's models are whole and streamed.
func TestModels(t *testing.T) {
	for _, arch := range []string{"llama", "qwen2", "qwen3"} {
		for _, d := range gpu.WeightDTypes() {
			m := ggufwrite.Model{Arch: arch, Layers: 1, Hidden: 64, Intermediate: 256, Heads: 4, KVHeads: 2, HeadDim: 16, Vocab: 300, Context: 64, Type: d, Tied: d == gpu.F32, Seed: 3}
			f, err := opened(written(t, m.File()))
			if err != nil {
				t.Fatalf("%s %s: %v", arch, d, err)
			}
			if down := f.Tensor("blk.0.ffn_down.weight"); down.Type != d {
				t.Errorf("%s: ffn_down is %s", d, down.Type)
			}
		}
	}
	if n := len(ggufwrite.Shapes["qwen2.5-1.5b"].File().Tensors); n != 2+28*12 {
		t.Errorf("Qwen2 1.5B has %d tensors", n)
	}
	x := ggufwrite.Tensor{Name: "x", Type: gpu.Q4_K, Shape: []int{100, 256}, Data: ggufdata.Floats(1)}
	if err := ggufwrite.Write(io.Discard, ggufwrite.File{Tensors: []ggufwrite.Tensor{x}}); err == nil {
		t.Error("too little data was written")
	}
}
