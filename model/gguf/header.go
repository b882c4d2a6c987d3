package gguf

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/model/blob"
)

// Magic begins every GGUF file.
const Magic = "GGUF"

const (
	maxKeys      = 1 << 16
	maxTensors   = 1 << 16
	maxKeyBytes  = 1<<16 - 1
	minAlignment = 8
	maxAlignment = 1 << 20
	// defaultAlignment holds if general.alignment is missing.
	defaultAlignment = 32
)

// part is one file: the whole model or a part of a split one.
type part struct {
	name    string
	version uint32
	keys    []string // in the order of the file
	meta    map[string]Value
	tensors []Tensor
}

// readPart checks a file and lists what is in it. Errors do not name the file.
func readPart(b blob.Blob, name string) (*part, error) {
	c := &cursor{b: b, size: b.Size()}
	p := &part{name: name, meta: map[string]Value{}}
	if err := p.readVersion(c); err != nil {
		return nil, err
	}
	tensors := c.count(minTensor, maxTensors, "tensors")
	keys := c.count(minKey, maxKeys, "metadata keys")
	for i := int64(0); i < keys && c.err == nil; i++ {
		p.readKey(c, i)
	}
	p.readTensors(c, tensors)
	if c.err != nil {
		return nil, c.err
	}
	return p, p.placeTensors(c)
}

func (p *part) readVersion(c *cursor) error {
	if c.size < 8 {
		return fmt.Errorf("has %d bytes, too short to be a GGUF file; %s", c.size, incomplete)
	}
	head := string(c.take(4, "the magic number"))
	p.version = c.u32("the version")
	v := p.version
	switch {
	case c.err != nil:
		return c.err
	case head == "vers":
		return fmt.Errorf("is a Git LFS pointer, not the model; run `git lfs pull` in its directory")
	case slices.Contains([]string{"lmgg", "fmgg", "tjgg", "algg"}, head):
		return fmt.Errorf("has a format older than GGUF (%q); download the model as GGUF", head)
	case head != Magic:
		return fmt.Errorf("is not a GGUF file: it begins with %q instead of %q; use a GGUF file, or download it again", head, Magic)
	case v == 2 || v == 3:
		return nil
	case v == 1:
		return fmt.Errorf("has GGUF version 1, which has been obsolete since 2023; supported: 2 and 3; download the model again or convert it again")
	case v != 0 && bits.ReverseBytes32(v) <= 0xffff:
		return fmt.Errorf("is a big-endian GGUF file (version %d); only little-endian ones are supported; download one of those", bits.ReverseBytes32(v))
	}
	return fmt.Errorf("has GGUF version %d, which is not supported; supported: 2 and 3; update troupe or download the model in version 3", v)
}

// minKey is the least that a key takes: its length, its kind, one byte.
const minKey = 8 + 4 + 1

func (p *part) readKey(c *cursor, i int64) {
	at := c.at
	key := string(c.text(maxKeyBytes, fmt.Sprintf("the name of key %d", i)))
	if strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		c.fail(at, "key %s is not printable ASCII; %s", clip(key), again)
	}
	if _, twice := p.meta[key]; twice || key == "" {
		c.fail(at, "key %s is empty or appears twice; %s", clip(key), again)
	}
	what := "key " + key
	if len(key) > 80 {
		what = "key " + key[:80] + "…"
	}
	p.meta[key] = readValue(c, Kind(c.u32("the type of "+what)), what)
	p.keys = append(p.keys, key)
}

// alignment of the data, in bytes.
func (p *part) alignment() (int64, error) {
	v, ok := p.meta["general.alignment"]
	if !ok {
		return defaultAlignment, nil
	}
	n, ok := v.Int()
	if !ok || n < minAlignment || n > maxAlignment || n&(n-1) != 0 {
		return 0, fmt.Errorf("byte %d: general.alignment is %s; it must be a power of two between %d and %d; %s", v.At, v, minAlignment, maxAlignment, again)
	}
	return n, nil
}
