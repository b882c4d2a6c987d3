package gguf

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/model/blob"
)

const (
	again      = "the file is damaged; download it again"
	incomplete = "the download is incomplete; download it again"
	either     = "the file is damaged or its download incomplete; download it again"

	// maxHeader bounds everything before the data.
	maxHeader = 256 << 20
	// window is what is asked of the file at once, so that a file that cannot
	// be mapped is not read by single bytes.
	window = 1 << 20
)

// cursor walks through the beginning of a file and never past its end.
type cursor struct {
	b    blob.Blob
	at   int64 // next byte
	size int64 // of the file
	buf  []byte
	from int64 // where buf stands
}

// take returns the next n bytes, good until the next call. what names them.
func (c *cursor) take(n int64, what string) ([]byte, error) {
	if n < 0 || n > c.size-c.at {
		return nil, fmt.Errorf("byte %d: %s goes to the end of the file, which has %d bytes; %s", c.at, what, c.size, incomplete)
	}
	if c.at+n > maxHeader {
		return nil, fmt.Errorf("byte %d: %s is after the first %d bytes, where no model has metadata; %s", c.at, what, maxHeader, again)
	}
	if c.at < c.from || c.at+n > c.from+int64(len(c.buf)) {
		buf, err := c.b.Bytes(c.at, max(n, min(window, c.size-c.at)))
		if err != nil {
			return nil, fmt.Errorf("byte %d: %s cannot be read: %w", c.at, what, err)
		}
		c.buf, c.from = buf, c.at
	}
	start := c.at - c.from
	c.at += n
	return c.buf[start : start+n : start+n], nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text reads a string of at most limit bytes.
func (c *cursor) text(limit int64, what string) (string, error) {
	b, err := c.textBytes(limit, what)
	return string(b), err
}

func (c *cursor) textBytes(limit int64, what string) ([]byte, error) {
	at := c.at
	n, err := c.u64("the length of " + what)
	if err != nil {
		return nil, err
	}
	if n > uint64(c.size) {
		return nil, fmt.Errorf("byte %d: %s claims %d bytes in a file of %d; %s", at, what, n, c.size, either)
	}
	if int64(n) > limit {
		return nil, fmt.Errorf("byte %d: %s claims %d bytes, more than the %d that are allowed; %s", at, what, n, limit, again)
	}
	return c.take(int64(n), what)
}

// count reads the number of things of at least least bytes each, which must
// fit into the rest of the file and into limit.
func (c *cursor) count(least, limit int64, what string) (int64, error) {
	at := c.at
	n, err := c.u64("the number of " + what)
	if err != nil {
		return 0, err
	}
	rest := c.size - c.at
	if n > uint64(rest/least) {
		return 0, fmt.Errorf("byte %d: claims %d %s, but the remaining %d bytes hold at most %d; %s", at, n, what, rest, rest/least, either)
	}
	if int64(n) > limit {
		return 0, fmt.Errorf("byte %d: claims %d %s, more than the %d that are allowed; %s", at, n, what, limit, again)
	}
	return int64(n), nil
}
