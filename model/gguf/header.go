package gguf

import (
	"fmt"
	"math/bits"

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
	// defaultAlignment holds where general.alignment is not there.
	defaultAlignment = 32
)

// part is one file: the whole model or a part of a split one.
type part struct {
	name    string
	version uint32
	keys    []string // as they stand in the file
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
	tensors, err := c.count(minTensor, maxTensors, "tensors")
	if err != nil {
		return nil, err
	}
	keys, err := c.count(minKey, maxKeys, "metadata keys")
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if err := p.readKey(c, i); err != nil {
			return nil, err
		}
	}
	if err := p.readTensors(c, tensors); err != nil {
		return nil, err
	}
	return p, p.placeTensors(c)
}

func (p *part) readVersion(c *cursor) error {
	if c.size < 8 {
		return fmt.Errorf("has %d bytes, too short to be a GGUF file; %s", c.size, incomplete)
	}
	head, err := c.take(4, "the magic number")
	if err != nil {
		return err
	}
	switch string(head) {
	case Magic:
	case "vers":
		return fmt.Errorf("is a Git LFS pointer, not the model; run `git lfs pull` in its directory")
	case "lmgg", "fmgg", "tjgg", "algg":
		return fmt.Errorf("has a format older than GGUF (%q); download the model as GGUF", head)
	default:
		return fmt.Errorf("is not a GGUF file: it begins with %q instead of %q", head, Magic)
	}
	if p.version, err = c.u32("the version"); err != nil {
		return err
	}
	v := p.version
	switch {
	case v == 2 || v == 3:
		return nil
	case v == 1:
		return fmt.Errorf("has GGUF version 1, which has been obsolete since 2023; supported: 2 and 3; download the model again or convert it again")
	case v != 0 && bits.ReverseBytes32(v) <= 0xffff:
		return fmt.Errorf("is a big-endian GGUF file (version %d); only little-endian ones are supported; download one of those", bits.ReverseBytes32(v))
	}
	return fmt.Errorf("has GGUF version %d; supported: 2 and 3; update troupe or download the model in version 3", v)
}

// minKey is the least that a key takes: its length, its kind, one byte.
const minKey = 8 + 4 + 1

func (p *part) readKey(c *cursor, i int64) error {
	at := c.at
	key, err := c.text(maxKeyBytes, fmt.Sprintf("the name of key %d", i))
	if err != nil {
		return err
	}
	for _, b := range []byte(key) {
		if b <= ' ' || b > '~' {
			return fmt.Errorf("byte %d: key %s is not printable ASCII; %s", at, clip(key), again)
		}
	}
	if _, twice := p.meta[key]; twice || key == "" {
		return fmt.Errorf("byte %d: key %s is empty or appears twice; %s", at, clip(key), again)
	}
	what := "key " + key
	if len(key) > 80 {
		what = "key " + key[:80] + "…"
	}
	kind, err := c.u32("the kind of " + what)
	if err != nil {
		return err
	}
	v, err := readValue(c, Kind(kind), what)
	if err != nil {
		return err
	}
	p.meta[key] = v
	p.keys = append(p.keys, key)
	return nil
}

// alignment of the data, in bytes.
func (p *part) alignment() (int64, error) {
	v, ok := p.meta["general.alignment"]
	if !ok {
		return defaultAlignment, nil
	}
	n, ok := v.Int()
	if !ok || n < minAlignment || n > maxAlignment || n&(n-1) != 0 {
		return 0, fmt.Errorf("byte %d: general.alignment is %s; it must be a power of two from %d to %d; %s", v.At, v, minAlignment, maxAlignment, again)
	}
	return n, nil
}
