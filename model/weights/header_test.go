package weights

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
)

func TestHostileHeaders(t *testing.T) {
	one := func(entry string) []byte { return pack(`{"x":`+entry+`}`, make([]byte, 8)) }
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "too short"},
		{"header beyond the limit", binary.LittleEndian.AppendUint64(nil, 1<<62), "at most 100000000"},
		{"header beyond the file", append(binary.LittleEndian.AppendUint64(nil, 100), '{'), "incomplete"},
		{"no JSON", pack("hello", nil), "not a safetensors header"},
		{"a list", pack("[1]", nil), "not a safetensors header"},
		{"cut off", pack(`{"x":{"dtype":"F32"`, nil), "not a safetensors header"},
		{"deep", pack(`{"x":`+strings.Repeat("[", 1<<20), nil), "not a safetensors header"},
		{"deep shape", one(`{"shape":[[[[[[2]]]]]]}`), "not a safetensors header"},
		{"text after the end", pack(`{}{}`, nil), "more text follows"},
		{"unknown type", one(`{"dtype":"F99","shape":[2],"data_offsets":[0,8]}`), `"F99"`},
		{"unknown key", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8],"z":1}`), `"z"`},
		{"key twice", one(`{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}`), "key dtype appears twice"},
		{"no offsets", one(`{"dtype":"F32","shape":[2]}`), "data_offsets is missing"},
		{"three offsets", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}`), "more than 2"},
		{"one offset", one(`{"dtype":"F32","shape":[2],"data_offsets":[0]}`), "1 numbers"},
		{"negative offset", one(`{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}`), "-8"},
		{"fractional shape", one(`{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}`), "the JSON must have a 64-bit integer without a decimal point or exponent here"},
		{"backwards", one(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`), "ends at byte 0, but begins at byte 8"},
		{"wrong extent", one(`{"dtype":"F32","shape":[3],"data_offsets":[0,8]}`), "12 bytes"},
		{"overflow", one(`{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}`), "too large"},
		{"overflow to the right extent", one(`{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}`), "too large"},
		{"too many dimensions", one(`{"dtype":"F32","shape":[` + strings.Repeat("1,", 20) + `2],"data_offsets":[0,8]}`), "more than 16"},
		{"beyond the data", one(`{"dtype":"F32","shape":[4],"data_offsets":[0,16]}`), "incomplete"},
		{"bytes left over", one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`), "after the last tensor"},
		{"hole", one(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`), "4 after"},
		{"overlap", pack(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)), "inside the previous tensor"},
		{"tensor twice", pack(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)), "tensor x appears twice"},
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
			if n := x.DType.Bytes(gpu.Elements(x.Shape)); n != len(x.Data) {
				t.Errorf("%s: %d bytes, shape %v", name, len(x.Data), x.Shape)
			}
		}
		if covered+8+int(binary.LittleEndian.Uint64(data)) != len(data) {
			t.Errorf("tensors cover %d bytes of %d", covered, len(data))
		}
	})
}
