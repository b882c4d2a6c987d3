package gguf

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/blob"
)

const (
	maxDims       = 4
	maxTensorName = 64 // bytes
	// minTensor is the least size of an entry: name, one dimension, type, offset.
	minTensor = 8 + 4 + 8 + 4 + 8
)

// Tensor is an entry of a file's list, checked: its data is inside the file.
type Tensor struct {
	Name string
	Type gpu.DType
	// Dims are as in the file, the fastest first: a matrix is [inputs, outputs].
	Dims  []int
	At    int64 // bytes from the beginning of the file
	Bytes int64
	File  string
	Blob  blob.Blob

	listed int64 // place of the entry in the file
}

// Shape is Dims in the order of other formats: [outputs, inputs].
func (t *Tensor) Shape() []int {
	s := slices.Clone(t.Dims)
	slices.Reverse(s)
	return s
}

func (p *part) readTensors(c *cursor, n int64) {
	p.tensors = make([]Tensor, 0, n)
	seen := make(map[string]bool, n)
	for i := int64(0); i < n && c.err == nil; i++ {
		t := Tensor{File: p.name, Blob: c.b, listed: c.at}
		t.Name = string(c.text(maxTensorName, fmt.Sprintf("the name of tensor %d", i)))
		if t.Name == "" || !printable(t.Name) {
			c.fail(t.listed, "the name %s of tensor %d is not printable text; %s", clip(t.Name), i, again)
		} else if seen[t.Name] {
			t.refuse(c, "appears twice in the list; %s", again)
		}
		seen[t.Name] = true
		t.read(c)
		p.tensors = append(p.tensors, t)
	}
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }) < 0
}

func (t *Tensor) fail(format string, args ...any) error {
	return fmt.Errorf("byte %d: tensor %s %w", t.listed, t.Name, fmt.Errorf(format, args...))
}

// refuse is fail for the cursor that reads the tensor.
func (t *Tensor) refuse(c *cursor, format string, args ...any) {
	c.fail(t.listed, "tensor %s %w", t.Name, fmt.Errorf(format, args...))
}

func (t *Tensor) read(c *cursor) {
	what := "tensor " + t.Name
	n := c.u32("the number of dimensions of " + what)
	if n < 1 || n > maxDims {
		t.refuse(c, "has %d dimensions; it must be between 1 and %d; %s", n, maxDims, again)
		return
	}
	for range n {
		d := c.u64("a dimension of " + what)
		if d == 0 || d > math.MaxInt32 {
			t.refuse(c, "has a dimension of %d; it must be between 1 and %d; %s", d, math.MaxInt32, again)
			return
		}
		t.Dims = append(t.Dims, int(d))
	}
	var err error
	if t.Type, err = typeOf(c.u32("the element type of " + what)); err != nil {
		t.refuse(c, "cannot be used: %w", err)
		return
	}
	at := c.u64("the offset of " + what)
	if at > math.MaxInt64 {
		t.refuse(c, "begins at byte %d of the data, beyond the largest possible file; %s", at, again)
	}
	t.At = int64(at) // within the data until placeTensors
	t.measure(c)
}

// measure computes the tensor's size from its type and dimensions.
func (t *Tensor) measure(c *cursor) {
	if block := t.Type.BlockLen(); t.Dims[0]%block != 0 {
		t.refuse(c, "has rows of %d elements, not a multiple of the %d in a block of %s; %s", t.Dims[0], block, t.Type.FileName(), again)
	}
	n := uint64(t.Dims[0] / t.Type.BlockLen() * t.Type.BlockBytes())
	for _, d := range t.Dims[1:] {
		high, low := bits.Mul64(n, uint64(d))
		if high != 0 || low > math.MaxInt64 {
			t.refuse(c, "has dimensions %v, which are too large; %s", t.Dims, again)
		}
		n = low
	}
	t.Bytes = int64(n)
}

// placeTensors makes offsets relative to the file and checks that tensors are
// aligned, apart from each other and inside the file.
func (p *part) placeTensors(c *cursor) error {
	align, err := p.alignment()
	if err != nil {
		return err
	}
	data := (c.at + align - 1) / align * align
	order := make([]*Tensor, len(p.tensors))
	for i := range p.tensors {
		order[i] = &p.tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *Tensor) int { return cmp.Compare(a.At, b.At) })
	for i, t := range order {
		if t.At%align != 0 {
			return t.fail("begins at byte %d of the data, which is not a multiple of the alignment of %d; %s", t.At, align, again)
		}
		if have := max(0, c.size-data); t.At > have || t.Bytes > have-t.At {
			return t.fail("has %d bytes from byte %d of the data on, but the data has only %d; %s", t.Bytes, t.At, have, incomplete)
		}
		if i > 0 {
			if before := order[i-1]; t.At < before.At-data+before.Bytes {
				return t.fail("begins at byte %d of the data, inside tensor %s, which ends at %d; %s", t.At, before.Name, before.At-data+before.Bytes, again)
			}
		}
		t.At += data
	}
	return nil
}
