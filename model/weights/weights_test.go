package weights

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/model/blob"
)

// pack writes a safetensors file from a header text and data.
func pack(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

type item struct {
	name, dtype string
	shape       []int
	data        []byte
}

// build writes a well-formed file.
func build(items ...item) []byte {
	head := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for _, it := range items {
		head[it.name] = map[string]any{"dtype": it.dtype, "shape": it.shape, "data_offsets": []int{len(data), len(data) + len(it.data)}}
		data = append(data, it.data...)
	}
	text, _ := json.Marshal(head)
	return pack(string(text)+"  ", data)
}

var sample = []item{
	{"b", "F32", []int{2, 2}, []byte("0123456789abcdef")},
	{"a", "BF16", []int{3}, []byte("ABCDEF")},
	{"scalar", "F16", []int{}, []byte("xy")},
	{"none", "F32", []int{0, 7}, nil},
	{"ids", "I64", []int{1}, []byte("12345678")},
}

func TestOpenReadsEveryWay(t *testing.T) {
	raw := build(sample...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, SingleFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	// Without mapping, as on systems that have none.
	f, err := os.Open(filepath.Join(dir, SingleFile))
	if err != nil {
		t.Fatal(err)
	}
	byPiece := &files{entries: map[string]Placed{}}
	p := blob.Pieces(f, int64(len(raw)))
	tensors, data, err := readHeader(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tensors {
		byPiece.entries[x.name] = x.place(SingleFile, p, data)
		byPiece.names = append(byPiece.names, x.name)
	}
	slices.Sort(byPiece.names)
	byPiece.blobs = []blob.Blob{p}

	mapped, err := Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := Open(fstest.MapFS{SingleFile: {Data: raw}})
	if err != nil {
		t.Fatal(err)
	}
	// The same model in two files.
	sharded, err := Open(fstest.MapFS{
		IndexFile: {Data: []byte(`{"metadata":{"total_size":1},"weight_map":{"b":"1.safetensors","a":"2.safetensors","scalar":"2.safetensors","none":"1.safetensors","ids":"1.safetensors"}}`)},
		// The second "a" is not the model's: the index says where a is.
		"1.safetensors": {Data: build(sample[0], sample[3], sample[4], item{"a", "F16", []int{1}, []byte("zz")})},
		"2.safetensors": {Data: build(sample[2], sample[1])},
	})
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	for _, s := range []Source{mapped, embedded, sharded, byPiece} {
		if got := strings.Join(s.Names(), " "); got != "a b ids none scalar" {
			t.Errorf("names %q", got)
		}
		for _, it := range sample[:4] {
			x, err := s.Tensor(it.name)
			if err != nil {
				t.Fatal(err)
			}
			if string(x.Data) != string(it.data) || !slices.Equal(x.Shape, it.shape) || strings.ToUpper(x.DType.String()) != it.dtype {
				t.Errorf("%s: got %+v", it.name, x)
			}
		}
		if _, err := s.Tensor("ids"); err == nil || !strings.Contains(err.Error(), "I64") {
			t.Errorf("integers: %v", err)
		}
		if _, err := s.Tensor("model.a"); err == nil || !strings.Contains(err.Error(), "there is a") {
			t.Errorf("absent: %v", err)
		}
		h, err := s.Hash(t.Context())
		if err != nil || !strings.HasPrefix(h, "sha256:") {
			t.Errorf("hash %s, %v", h, err)
		}
		hashes[h] = true
		if i, ok := s.Info("b"); !ok || i.Bytes != 16 || i.DType != "F32" {
			t.Errorf("info %+v", i)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(hashes) != 1 {
		t.Errorf("the same tensors have the hashes %v", hashes)
	}
}

func TestHashSeesEverything(t *testing.T) {
	big := make([]byte, 4<<20)
	of := func(sampled bool, items ...item) string {
		s, err := Open(fstest.MapFS{SingleFile: {Data: build(items...)}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := hashTensors(t.Context(), s.(*files), sampled)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	seen := map[string]string{}
	try := func(what string, sampled bool, items ...item) {
		h := of(sampled, items...)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", what, other)
		}
		seen[h] = what
	}
	for _, sampled := range []bool{false, true} {
		try("plain", sampled, item{"x", "F32", []int{1 << 20}, big})
		try("other name", sampled, item{"y", "F32", []int{1 << 20}, big})
		try("other type", sampled, item{"x", "F16", []int{1 << 21}, big})
		try("other shape", sampled, item{"x", "F32", []int{1 << 10, 1 << 10}, big})
		for _, at := range []int{0, len(big) - 1} {
			changed := slices.Clone(big)
			changed[at] ^= 1
			try("changed data", sampled, item{"x", "F32", []int{1 << 20}, changed})
		}
	}
	changed := slices.Clone(big)
	changed[sampleBlock+1] ^= 1
	try("changed between samples, read whole", false, item{"x", "F32", []int{1 << 20}, changed})
}

func TestHostileHeaders(t *testing.T) {
	one := func(entry string) []byte { return pack(`{"x":`+entry+`}`, make([]byte, 8)) }
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "too few"},
		{"header beyond the limit", binary.LittleEndian.AppendUint64(nil, 1<<62), "more than the 100000000"},
		{"header beyond the file", append(binary.LittleEndian.AppendUint64(nil, 100), '{'), "incomplete"},
		{"no JSON", pack("hello", nil), "not a safetensors header"},
		{"a list", pack("[1]", nil), "not a safetensors header"},
		{"cut off", pack(`{"x":{"dtype":"F32"`, nil), "not a safetensors header"},
		{"deep", pack(`{"x":`+strings.Repeat("[", 1<<20), nil), "not a safetensors header"},
		{"deep shape", one(`{"shape":[[[[[[2]]]]]]}`), "not a safetensors header"},
		{"text after the end", pack(`{}{}`, nil), "after its end"},
		{"unknown type", one(`{"dtype":"F99","shape":[2],"data_offsets":[0,8]}`), `"F99"`},
		{"unknown key", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8],"z":1}`), `"z"`},
		{"key twice", one(`{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}`), "comes twice"},
		{"no offsets", one(`{"dtype":"F32","shape":[2]}`), "data_offsets is missing"},
		{"three offsets", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}`), "more than 2"},
		{"one offset", one(`{"dtype":"F32","shape":[2],"data_offsets":[0]}`), "1 numbers"},
		{"negative offset", one(`{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}`), "-8"},
		{"fractional shape", one(`{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}`), "2.0"},
		{"backwards", one(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`), "before it begins"},
		{"wrong extent", one(`{"dtype":"F32","shape":[3],"data_offsets":[0,8]}`), "12 bytes"},
		{"overflow", one(`{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}`), "too large"},
		{"overflow to the right extent", one(`{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}`), "too large"},
		{"too many dimensions", one(`{"dtype":"F32","shape":[` + strings.Repeat("1,", 20) + `2],"data_offsets":[0,8]}`), "more than 16"},
		{"beyond the data", one(`{"dtype":"F32","shape":[4],"data_offsets":[0,16]}`), "incomplete"},
		{"bytes left over", one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`), "after the last tensor"},
		{"hole", one(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`), "4 after"},
		{"overlap", pack(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)), "inside the tensor before"},
		{"tensor twice", pack(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)), "twice"},
		{"metadata of a wrong type", pack(`{"__metadata__":{"a":1}}`, nil), "not a safetensors header"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(fstest.MapFS{SingleFile: {Data: c.file}})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), SingleFile) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestBadIndexAndMissingFiles(t *testing.T) {
	file := &fstest.MapFile{Data: build(sample[1])}
	cases := []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"nothing", fstest.MapFS{}, "load-format"},
		{"GGUF", fstest.MapFS{"m.gguf": file}, "GGUF"},
		{"PyTorch", fstest.MapFS{"pytorch_model.bin": file}, "safetensors"},
		{"shards without index", fstest.MapFS{"model-00001-of-00002.safetensors": file}, "index"},
		{"a directory", fstest.MapFS{SingleFile + "/x": file}, "not a regular file"},
		{"no map", fstest.MapFS{IndexFile: {Data: []byte(`{}`)}}, "weight_map"},
		{"empty map", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{}}`)}}, "empty"},
		{"outside", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"../secret"}}`)}}, "not a file name"},
		{"absolute", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"/etc/passwd"}}`)}}, "not a file name"},
		{"not a name", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":1}}`)}}, "no file name"},
		{"twice", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"x","a":"y"}}`)}}, "twice"},
		{"missing shard", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"a":"1.safetensors"}}`)}}, "1.safetensors cannot be opened"},
		{"tensor not in shard", fstest.MapFS{IndexFile: {Data: []byte(`{"weight_map":{"q":"1.safetensors"}}`)}, "1.safetensors": file}, "tensor q is not in it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Open(c.fsys); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(build(sample...))
	f.Add(pack(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Open(fstest.MapFS{SingleFile: {Data: data}})
		if err != nil {
			return
		}
		covered := 0
		for _, name := range s.Names() {
			i, _ := s.Info(name)
			covered += int(i.Bytes)
			x, err := s.Tensor(name)
			if err != nil {
				continue
			}
			if n := x.DType.Bytes(elements(x.Shape)); n != len(x.Data) {
				t.Errorf("%s: %d bytes, shape %v", name, len(x.Data), x.Shape)
			}
		}
		if covered+8+int(binary.LittleEndian.Uint64(data)) != len(data) {
			t.Errorf("tensors cover %d bytes of %d", covered, len(data))
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map":{"a":"1.safetensors"}}`))
	shard := build(sample[1])
	f.Fuzz(func(t *testing.T, index []byte) {
		s, err := Open(fstest.MapFS{IndexFile: {Data: index}, "1.safetensors": {Data: shard}})
		if err != nil {
			return
		}
		if !slices.Equal(s.Names(), []string{"a"}) {
			t.Errorf("names %q from %q", s.Names(), index)
		}
	})
}

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

// TestFromFiles: rows come in the order asked for, and the hash knows it.
func TestFromFiles(t *testing.T) {
	data := blob.Memory("..abcdefgh")
	source := func(order []int) Source {
		return FromFiles([]blob.Blob{data}, []Placed{{
			Info: Info{Name: "x", Stored: "y", DType: "F16", Shape: []int{4, 1}, Bytes: 8, File: "f"}, Blob: data, At: 2, Order: order,
		}})
	}
	plain, turned := source(nil), source([]int{2, 0, 3, 1})
	for want, s := range map[string]Source{"abcdefgh": plain, "efabghcd": turned} {
		x, err := s.Tensor("x")
		if err != nil || string(x.Data) != want || x.DType != gpu.F16 {
			t.Errorf("%q of %s, %v; want %q", x.Data, x.DType, err, want)
		}
	}
	a, err := plain.Hash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := turned.Hash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Error("two orders have one hash")
	}
	if i, _ := plain.Info("x"); i.Title() != "x (y in the file)" {
		t.Errorf("called %q", i.Title())
	}
	if err := turned.Close(); err != nil {
		t.Error(err)
	}
}
