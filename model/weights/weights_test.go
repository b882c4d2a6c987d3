package weights

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
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
	byPiece.unknown = byPiece.near
	p := blob.Pieces(f, int64(len(raw)))
	tensors, err := readHeader(p, SingleFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tensors {
		byPiece.entries[x.Name] = x
		byPiece.names = append(byPiece.names, x.Name)
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
		if _, err := s.Tensor("model.a"); err == nil || !strings.Contains(err.Error(), "(a similar one exists: a)") {
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

// TestFromFiles: rows come in the given order, which the hash covers.
func TestFromFiles(t *testing.T) {
	data := blob.Memory("..abcdefgh")
	source := func(order []int) Source {
		return FromFiles([]blob.Blob{data}, []Placed{{
			Info: Info{Name: "x", Stored: "y", DType: "F16", Shape: []int{4, 1}, Bytes: 8, File: "f"}, Blob: data, At: 2, Order: order,
		}}, nil)
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
