package weights

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/blob"
)

// recorder is a mapped file that counts what is given back of it, in bytes.
type recorder struct {
	blob.Memory
	discarded int
}

func (r *recorder) Discard(data []byte) { r.discarded += len(data) }

// A Source gives the memory of what it copies or hashes back by itself, and that
// of data that is read straight from the file when the reader calls Discard.
func TestFilesAreGivenBack(t *testing.T) {
	open := func(order []int) (*recorder, Source) {
		r := &recorder{Memory: blob.Memory("..abcdefgh")}
		return r, FromFiles([]blob.Blob{r}, []Placed{{
			Info: Info{Name: "x", DType: "F16", Shape: []int{4, 1}, Bytes: 8, File: "f"}, Blob: r, At: 2, Order: order,
		}}, nil)
	}
	tensor := func(s Source) gpu.Tensor {
		x, err := s.Tensor("x")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	r, s := open(nil)
	x := tensor(s)
	if r.discarded != 0 {
		t.Errorf("%d bytes were given back before they were read", r.discarded)
	}
	if s.Discard(x.Data[2:6]); r.discarded != 4 {
		t.Errorf("%d of 4 bytes were given back", r.discarded)
	}
	r, s = open([]int{2, 0, 3, 1})
	if tensor(s); r.discarded != 8 {
		t.Errorf("a copy leaves the file: %d of 8 bytes were given back", r.discarded)
	}
	r, s = open(nil)
	if _, err := s.Hash(t.Context()); err != nil || r.discarded != 8 {
		t.Errorf("the hash leaves the file: %d of 8 bytes were given back, %v", r.discarded, err)
	}
}
