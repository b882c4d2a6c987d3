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

// tensor is one entry of a header, checked.
type tensor struct {
	name       string
	dtype      string
	shape      []int
	begin, end int64 // relative to the data
}

// elementBits has all types that a header may name; gpu.WeightDTypes has those
// that can be used.
var elementBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64,
}

const again = "the file is damaged; download it again"

// readHeader checks a file's header against the file and returns its tensors,
// ascending by offset, and where the data begins.
func readHeader(b blob.Blob) ([]tensor, int64, error) {
	size := b.Size()
	if size < 8 {
		return nil, 0, fmt.Errorf("has %d bytes, too short to be a safetensors file; download it again", size)
	}
	head, err := b.Bytes(0, 8)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case string(head) == "version ":
		return nil, 0, fmt.Errorf("is a Git LFS pointer, not the weights; run `git lfs pull` in the model's directory")
	case string(head[:4]) == "GGUF":
		return nil, 0, fmt.Errorf("is a GGUF file with another ending; rename it to end in .gguf, and give its path as the model")
	}
	n := binary.LittleEndian.Uint64(head)
	if n > maxHeader {
		return nil, 0, fmt.Errorf("claims a header of %d bytes, more than the %d that the format allows; this is not a safetensors file or %s", n, maxHeader, again)
	}
	if int64(n) > size-8 {
		return nil, 0, fmt.Errorf("claims a header of %d bytes but has only %d; the download is incomplete; download it again", n, size)
	}
	text, err := b.Bytes(8, int64(n))
	if err != nil {
		return nil, 0, err
	}
	tensors, err := parseHeader(text)
	if err != nil {
		return nil, 0, err
	}
	return tensors, 8 + int64(n), checkCover(tensors, size-8-int64(n))
}

// checkCover sorts tensors by offset and checks that they cover the data.
func checkCover(tensors []tensor, data int64) error {
	slices.SortFunc(tensors, func(a, b tensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, t := range tensors {
		if t.begin < at {
			return fmt.Errorf("tensor %s begins at byte %d of the data, inside the tensor before it, which ends at %d; %s", t.name, t.begin, at, again)
		}
		if t.begin > at {
			return fmt.Errorf("tensor %s begins at byte %d of the data, %d after the one before it; %s", t.name, t.begin, t.begin-at, again)
		}
		if t.end > data {
			return fmt.Errorf("tensor %s ends at byte %d of the data, which has %d bytes; the download is incomplete; download it again", t.name, t.end, data)
		}
		at = t.end
	}
	if at != data {
		return fmt.Errorf("has %d bytes after the last tensor; %s", data-at, again)
	}
	return nil
}

// parseHeader reads the JSON by its fixed shape, so nesting is bounded by the
// format and a duplicate name is seen.
func parseHeader(text []byte) ([]tensor, error) {
	var tensors []tensor
	seen := map[string]bool{}
	r, err := jsonread.NewReader(text)
	if err == nil {
		err = r.Object(func(key []byte) error {
			name := string(key)
			if seen[name] {
				return fmt.Errorf("duplicate tensor %s; %s", clip(name), again)
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
	if err == nil {
		err = r.End()
	}
	var notJSON *jsonread.Error
	if errors.As(err, &notJSON) {
		err = fmt.Errorf("not a safetensors header: %w; %s", err, again)
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return tensors, nil
}

func parseTensor(r *jsonread.Reader, name string) (tensor, error) {
	t := tensor{name: name, begin: -1}
	known := map[string]bool{}
	err := r.Object(func(key []byte) error {
		if known[string(key)] {
			return fmt.Errorf("duplicate key %s; %s", key, again)
		}
		known[string(key)] = true
		switch string(key) {
		case "dtype":
			text, err := r.Text()
			t.dtype = string(text)
			return err
		case "shape":
			dims, err := numbers(r, maxRank)
			for _, n := range dims {
				t.shape = append(t.shape, int(n))
			}
			return err
		case "data_offsets":
			at, err := numbers(r, 2)
			if err == nil && len(at) != 2 {
				err = fmt.Errorf("data_offsets has %d numbers; it must have 2; %s", len(at), again)
			}
			if err == nil {
				t.begin, t.end = at[0], at[1]
			}
			return err
		}
		return fmt.Errorf("key %q is not known; %s", clip(string(key)), again)
	})
	if err != nil {
		return t, err
	}
	return t, t.check(known)
}

// check compares a tensor's type and shape with its extent.
func (t *tensor) check(known map[string]bool) error {
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !known[key] {
			return fmt.Errorf("%s is missing; %s", key, again)
		}
	}
	width, ok := elementBits[t.dtype]
	if !ok {
		return fmt.Errorf("element type %q is not known; supported: F32, F16 and BF16", clip(t.dtype))
	}
	if t.end < t.begin {
		return fmt.Errorf("ends at byte %d, before it begins at %d; %s", t.end, t.begin, again)
	}
	n := uint64(width)
	for _, dim := range t.shape {
		high, low := bits.Mul64(n, uint64(dim))
		if high != 0 || low > math.MaxInt64 {
			return fmt.Errorf("shape %v is too large to count; %s", t.shape, again)
		}
		n = low
	}
	if n%8 != 0 || int64(n/8) != t.end-t.begin {
		return fmt.Errorf("%s of shape %v has %d bytes, but the offsets span %d; %s", t.dtype, t.shape, n/8, t.end-t.begin, again)
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
			return fmt.Errorf("%d is not a size or an offset; %s", n, again)
		case len(all) == limit:
			return fmt.Errorf("more than %d numbers in a list; %s", limit, again)
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
