package weights

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/blob"
)

// The format (huggingface/safetensors, "Format"): eight bytes N, little-endian;
// N bytes of JSON, an object of tensors {dtype, shape, data_offsets [begin,
// end)} beside an optional "__metadata__" of strings; then the data, to which
// the offsets are relative and which the tensors cover without hole or overlap.

const (
	maxHeader = 100_000_000 // the reference implementation's own limit
	maxRank   = 16
)

// elementBits has all types that a header may name; gpu.WeightDTypes the usable ones.
var elementBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64,
}

const again = "the file is damaged; download it again"

// readHeader checks a header against its file and returns its tensors in file order.
func readHeader(b blob.Blob, file string) ([]Placed, error) {
	size := b.Size()
	if size < 8 {
		return nil, fmt.Errorf("has %d bytes, too short to be a safetensors file; download it again", size)
	}
	head, err := b.Bytes(0, 8)
	if err != nil {
		return nil, err
	}
	switch {
	case string(head) == "version ":
		return nil, fmt.Errorf("is a Git LFS pointer, not the weights; run `git lfs pull` in the model's directory")
	case string(head[:4]) == "GGUF":
		return nil, fmt.Errorf("is a GGUF file with another extension; rename it to end in .gguf, and give its path as the model")
	}
	n := binary.LittleEndian.Uint64(head)
	if n > maxHeader {
		return nil, fmt.Errorf("declares a header of %d bytes; at most %d are allowed; this is not a safetensors file or %s", n, maxHeader, again)
	}
	if int64(n) > size-8 {
		return nil, fmt.Errorf("declares a header of %d bytes, but has only %d bytes; the download is incomplete; download it again", n, size)
	}
	text, err := b.Bytes(8, int64(n))
	if err != nil {
		return nil, err
	}
	tensors, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	if err := checkCover(tensors, size-8-int64(n)); err != nil {
		return nil, err
	}
	for i := range tensors {
		t := &tensors[i]
		t.At += 8 + int64(n)
		t.Blob, t.File = b, file
	}
	return tensors, nil
}

// checkCover sorts tensors by offset and checks that they cover the data.
func checkCover(tensors []Placed, data int64) error {
	slices.SortFunc(tensors, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Bytes, b.Bytes))
	})
	at := int64(0)
	for _, t := range tensors {
		if t.At < at {
			return fmt.Errorf("tensor %s begins at byte %d of the data, inside the previous tensor, which ends at %d; %s", t.Name, t.At, at, again)
		}
		if t.At > at {
			return fmt.Errorf("tensor %s begins at byte %d of the data, %d after the end of the previous one; %s", t.Name, t.At, t.At-at, again)
		}
		if at += t.Bytes; at > data {
			return fmt.Errorf("tensor %s ends at byte %d of the data, which has %d bytes; the download is incomplete; download it again", t.Name, at, data)
		}
	}
	if at != data {
		return fmt.Errorf("has %d bytes after the last tensor; %s", data-at, again)
	}
	return nil
}

// parseHeader reads the JSON by its fixed shape, so nesting is bounded by the
// format and a duplicate name is seen.
func parseHeader(text []byte) ([]Placed, error) {
	var tensors []Placed
	seen := map[string]bool{}
	r, err := jsonread.NewReader(text)
	if err == nil {
		err = r.Document(func(key []byte) error {
			name := string(key)
			if seen[name] {
				return fmt.Errorf("tensor %s appears twice; %s", clip(name), again)
			}
			seen[name] = true
			if name == "__metadata__" {
				return r.Object(func([]byte) error { _, err := r.Text(); return err })
			}
			t, err := parseTensor(r, name)
			if err != nil {
				return fmt.Errorf("tensor %s: %w", clip(name), err)
			}
			tensors = append(tensors, t)
			return nil
		})
	}
	if _, ok := errors.AsType[*jsonread.Error](err); ok {
		err = fmt.Errorf("not a safetensors header: %w; %s", err, again)
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return tensors, nil
}

// parseTensor reads an entry. Its place is relative to the data.
func parseTensor(r *jsonread.Reader, name string) (Placed, error) {
	t := Placed{Info: Info{Name: name}}
	known := map[string]bool{}
	err := r.Object(func(key []byte) error {
		if known[string(key)] {
			return fmt.Errorf("key %s appears twice; %s", key, again)
		}
		known[string(key)] = true
		switch string(key) {
		case "dtype":
			text, err := r.Text()
			t.DType = string(text)
			return err
		case "shape":
			dims, err := numbers(r, maxRank)
			for _, n := range dims {
				t.Shape = append(t.Shape, int(n))
			}
			return err
		case "data_offsets":
			at, err := numbers(r, 2)
			switch {
			case err != nil:
				return err
			case len(at) != 2:
				return fmt.Errorf("data_offsets has %d numbers; it must have 2; %s", len(at), again)
			case at[1] < at[0]:
				return fmt.Errorf("ends at byte %d, but begins at byte %d; %s", at[1], at[0], again)
			}
			t.At, t.Bytes = at[0], at[1]-at[0]
			return nil
		}
		return fmt.Errorf("unknown key %q; %s", clip(string(key)), again)
	})
	if err != nil {
		return t, err
	}
	return t, t.check(known)
}

// check compares a tensor's type and shape with its extent.
func (t *Placed) check(known map[string]bool) error {
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !known[key] {
			return fmt.Errorf("%s is missing; %s", key, again)
		}
	}
	width, ok := elementBits[t.DType]
	if !ok {
		return fmt.Errorf("element type %q is not supported; supported: F32, F16 and BF16", clip(t.DType))
	}
	n := uint64(width)
	for _, dim := range t.Shape {
		high, low := bits.Mul64(n, uint64(dim))
		if high != 0 || low > math.MaxInt64 {
			return fmt.Errorf("shape %v is too large; %s", t.Shape, again)
		}
		n = low
	}
	if n%8 != 0 || int64(n/8) != t.Bytes {
		return fmt.Errorf("%s of shape %v has %d bytes, but the offsets span %d; %s", t.DType, t.Shape, n/8, t.Bytes, again)
	}
	return nil
}

// numbers reads an array of at most limit whole numbers from 0 on.
func numbers(r *jsonread.Reader, limit int) ([]int64, error) {
	var all []int64
	err := r.Array(func() error {
		n, err := r.Int()
		switch {
		case err != nil:
			return err
		case n < 0 || n > math.MaxInt:
			return fmt.Errorf("%d is not a valid size or offset; %s", n, again)
		case len(all) == limit:
			return fmt.Errorf("a list has more than %d numbers; %s", limit, again)
		}
		all = append(all, n)
		return nil
	})
	return all, err
}

// clip bounds a foreign string for an error text.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
