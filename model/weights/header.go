package weights

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

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

const again = "the file is damaged, fetch it again"

// readHeader checks a file's header against the file and returns its tensors,
// ascending by offset, and where the data begins.
func readHeader(b blob.Blob) ([]tensor, int64, error) {
	size := b.Size()
	if size < 8 {
		return nil, 0, fmt.Errorf("has %d bytes, too few for a safetensors file; fetch it again", size)
	}
	head, err := b.Bytes(0, 8)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case string(head) == "version ":
		return nil, 0, fmt.Errorf("is a Git LFS pointer, not the weights; run `git lfs pull` in the model's directory")
	case string(head[:4]) == "GGUF":
		return nil, 0, fmt.Errorf("is a GGUF file under another name; give it a name that ends in .gguf, and its path as the model")
	}
	n := binary.LittleEndian.Uint64(head)
	if n > maxHeader {
		return nil, 0, fmt.Errorf("claims a header of %d bytes, more than the %d that the format allows; this is not a safetensors file or %s", n, maxHeader, again)
	}
	if int64(n) > size-8 {
		return nil, 0, fmt.Errorf("claims a header of %d bytes but has only %d; the download is incomplete, fetch it again", n, size)
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
		if a.begin != b.begin {
			return cmp(a.begin, b.begin)
		}
		return cmp(a.end, b.end)
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
			return fmt.Errorf("tensor %s ends at byte %d of the data, of which there are %d; the download is incomplete, fetch it again", t.name, t.end, data)
		}
		at = t.end
	}
	if at != data {
		return fmt.Errorf("has %d bytes after the last tensor; %s", data-at, again)
	}
	return nil
}

func cmp(a, b int64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// parseHeader reads the JSON by its fixed shape, so nesting is bounded by the
// format and a name that comes twice is seen.
func parseHeader(text []byte) ([]tensor, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tensors []tensor
	seen := map[string]bool{}
	err := object(d, func(name string) error {
		if seen[name] {
			return fmt.Errorf("tensor %s stands in the header twice; %s", clip(name), again)
		}
		seen[name] = true
		if name == "__metadata__" {
			return object(d, func(string) error { _, err := text1(d); return err })
		}
		t, err := parseTensor(d, name)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", clip(name), err)
		}
		tensors = append(tensors, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if rest := bytes.TrimRight(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("header: %d bytes after its end; %s", len(rest), again)
	}
	return tensors, nil
}

func parseTensor(d *json.Decoder, name string) (tensor, error) {
	t := tensor{name: name, begin: -1}
	known := map[string]bool{}
	err := object(d, func(key string) error {
		if known[key] {
			return fmt.Errorf("%s comes twice; %s", key, again)
		}
		known[key] = true
		switch key {
		case "dtype":
			var err error
			t.dtype, err = text1(d)
			return err
		case "shape":
			dims, err := numbers(d, maxRank)
			for _, n := range dims {
				t.shape = append(t.shape, int(n))
			}
			return err
		case "data_offsets":
			at, err := numbers(d, 2)
			if err == nil && len(at) != 2 {
				err = fmt.Errorf("data_offsets has %d numbers, not 2; %s", len(at), again)
			}
			if err == nil {
				t.begin, t.end = at[0], at[1]
			}
			return err
		}
		return fmt.Errorf("key %q is not known; %s", clip(key), again)
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
		return fmt.Errorf("element type %q is not known; implemented are F32, F16 and BF16", clip(t.dtype))
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

var errShape = errors.New("the JSON is not a safetensors header; " + again)

// object reads { and calls member after each key, which must consume the value.
func object(d *json.Decoder, member func(key string) error) error {
	if err := delim(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := text1(d)
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return delim(d, '}')
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return fmt.Errorf("%w (%v)", errShape, err)
	}
	if t != want {
		return errShape
	}
	return nil
}

func text1(d *json.Decoder) (string, error) {
	t, err := d.Token()
	if err != nil {
		return "", fmt.Errorf("%w (%v)", errShape, err)
	}
	s, ok := t.(string)
	if !ok {
		return "", errShape
	}
	return s, nil
}

// numbers reads an array of at most limit whole numbers >= 0.
func numbers(d *json.Decoder, limit int) ([]int64, error) {
	if err := delim(d, '['); err != nil {
		return nil, err
	}
	var all []int64
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w (%v)", errShape, err)
		}
		n, ok := t.(json.Number)
		if !ok {
			return nil, errShape
		}
		v, err := n.Int64()
		if err != nil || v < 0 || v > math.MaxInt {
			return nil, fmt.Errorf("%s is not a whole number from 0 on; %s", clip(n.String()), again)
		}
		if len(all) == limit {
			return nil, fmt.Errorf("more than %d numbers in a list; %s", limit, again)
		}
		all = append(all, v)
	}
	return all, delim(d, ']')
}

// clip bounds a foreign string for an error text.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
