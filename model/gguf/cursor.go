package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/troupe-engine/troupe/model/blob"
)

const (
	// maxHeader bounds everything before the data.
	maxHeader = 256 << 20
	// window is what is read of the file at once, so that a file that cannot be
	// mapped is not read by single bytes.
	window = 1 << 20
)

// Remedies.
const (
	again      = "the file is damaged; download it again"
	incomplete = "the download is incomplete; download it again"
	either     = "the file is damaged or its download incomplete; download it again"
)

// clip quotes a string of the file for an error text, shortened.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], "\uFFFD"))
	}
	return fmt.Sprintf("%q", s)
}

// cursor walks through the beginning of a file and never past its end. After
// the first error, which it keeps, everything that it returns is zero.
type cursor struct {
	b    blob.Blob
	at   int64 // next byte
	size int64 // of the file
	buf  []byte
	from int64 // place of buf in the file
	err  error
}

// fail keeps an error at a byte of the file.
func (c *cursor) fail(at int64, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("byte %d: %w", at, fmt.Errorf(format, args...))
	}
}

// take returns the next n bytes, valid until the next call; nil after an error.
func (c *cursor) take(n int64, what string) []byte {
	switch {
	case c.err != nil:
		return nil
	case n < 0 || n > c.size-c.at:
		c.fail(c.at, "%s extends beyond the end of the file, which has %d bytes; %s", what, c.size, incomplete)
		return nil
	case c.at+n > maxHeader:
		c.fail(c.at, "%s lies beyond byte %d, the limit of metadata; %s", what, maxHeader, again)
		return nil
	case c.at < c.from || c.at+n > c.from+int64(len(c.buf)):
		buf, err := c.b.Bytes(c.at, max(n, min(window, c.size-c.at)))
		if err != nil {
			c.fail(c.at, "%s cannot be read: %w", what, err)
			return nil
		}
		c.buf, c.from = buf, c.at
	}
	start := c.at - c.from
	c.at += n
	return c.buf[start : start+n : start+n]
}

func (c *cursor) u32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(what string) uint64 {
	if b := c.take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text reads a string of at most limit bytes.
func (c *cursor) text(limit int64, what string) []byte {
	at := c.at
	n := c.u64(what)
	if n > uint64(c.size) {
		c.fail(at, "%s declares %d bytes, but the file has %d; %s", what, n, c.size, either)
	} else if int64(n) > limit {
		c.fail(at, "%s declares %d bytes; at most %d are allowed; %s", what, n, limit, again)
	}
	return c.take(int64(n), what)
}

// count reads the number of things of at least least bytes each, which must
// fit into the rest of the file and into limit.
func (c *cursor) count(least, limit int64, what string) int64 {
	at := c.at
	n := c.u64("the number of " + what)
	rest := c.size - c.at
	if n > uint64(rest/least) {
		c.fail(at, "the file declares %d %s, but the remaining %d bytes hold at most %d; %s", n, what, rest, rest/least, either)
	} else if int64(n) > limit {
		c.fail(at, "the file declares %d %s; at most %d are allowed; %s", n, what, limit, again)
	}
	if c.err != nil {
		return 0
	}
	return int64(n)
}

const maxNesting = 4

// skip passes over one value that is not an array.
func skip(c *cursor, k Kind, what string) {
	if k == String {
		c.text(maxHeader, what)
		return
	}
	at := c.at
	if b := c.take(kinds[k].size, what); k == Bool && b != nil && b[0] > 1 {
		c.fail(at, "%s is a bool of value %d; %s", what, b[0], again)
	}
}

// skipArray checks an array, passes over it and returns its shape.
func skipArray(c *cursor, what string, depth int) (elem Kind, n int) {
	at := c.at
	elem = Kind(c.u32("the element type of " + what))
	if !elem.known() {
		c.fail(at, "%s has elements of type %d, which is not known; the file is damaged or newer than this program; download it again or update troupe", what, uint32(elem))
		return elem, 0
	}
	if elem == Array && depth == maxNesting {
		c.fail(at, "%s has arrays in arrays more than %d deep; %s", what, maxNesting, again)
	}
	n = int(c.count(kinds[elem].size, math.MaxInt32, "elements of "+what))
	if elem.fixed() && elem != Bool {
		c.take(int64(n)*kinds[elem].size, what)
		return elem, n
	}
	for i := 0; i < n && c.err == nil; i++ {
		if elem == Array {
			skipArray(c, what, depth+1)
		} else {
			skip(c, elem, what)
		}
	}
	return elem, n
}
