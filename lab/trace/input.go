package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/therootcompany/xz"
)

// input is an open file, unpacked, that counts what was read of it.
type input struct {
	path string
	file *os.File
	size int64 // 0 when unknown
	read int64
	*bufio.Reader
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	xzMagic   = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	bom       = []byte{0xef, 0xbb, 0xbf}
)

// openInput opens a file and unpacks gzip and xz, known by their magic bytes.
func openInput(path string) (*input, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in := &input{path: path, file: file}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		in.size = info.Size()
	}
	if err := in.unpack(); err != nil {
		file.Close()
		return nil, err
	}
	return in, nil
}

func (in *input) unpack() error {
	raw := bufio.NewReaderSize(countingReader{in.file, &in.read}, 64<<10)
	head, err := raw.Peek(len(xzMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", in.path, err)
	}
	var unpacked io.Reader
	switch {
	case len(head) == 0:
		return &Error{File: in.path, What: "the file is empty"}
	case bytes.HasPrefix(head, gzipMagic):
		unpacked, err = gzip.NewReader(raw)
	case bytes.Equal(head, xzMagic):
		unpacked, err = newXZ(raw)
	default:
		in.Reader = raw
		return nil
	}
	if err != nil {
		return &Error{File: in.path, What: "cannot be unpacked: " + err.Error()}
	}
	in.Reader = bufio.NewReaderSize(unpacked, 64<<10)
	return nil
}

// maxDictionary bounds the dictionary of an xz file, which is memory that the
// file asks for, up to 4 GiB: 64 MiB is what the highest preset of xz takes.
const maxDictionary = 64 << 20

// xzReader says what to do about a dictionary beyond the bound.
type xzReader struct{ *xz.Reader }

func newXZ(in io.Reader) (io.Reader, error) {
	r, err := xz.NewReader(in, maxDictionary)
	return xzReader{r}, explainXZ(err)
}

func (r xzReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, explainXZ(err)
}

func explainXZ(err error) error {
	if errors.Is(err, xz.ErrMemlimit) {
		return fmt.Errorf("it needs a dictionary of more than %d MiB; pack it with xz -9 or less", maxDictionary>>20)
	}
	return err
}

func (in *input) Progress() (read, size int64) { return in.read, in.size }
func (in *input) Close() error                 { return in.file.Close() }

type countingReader struct {
	io.Reader
	n *int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += int64(n)
	return n, err
}

// lines reads a text file line by line.
type lines struct {
	*input
	line int  // number of the line read last
	open bool // the line read last has no line end, so the file ends there
	buf  []byte
}

func openLines(path string) (*lines, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	if head, _ := in.Peek(len(bom)); bytes.Equal(head, bom) {
		in.Discard(len(bom)) // what was peeked can be discarded
	}
	return &lines{input: in}, nil
}

// next returns the next line that is not blank, without its end. It is good
// until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		text, err := l.readLine()
		if err != nil {
			return nil, err
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		if !utf8.Valid(text) {
			return nil, l.fail("the text is not UTF-8")
		}
		return text, nil
	}
}

func (l *lines) readLine() ([]byte, error) {
	l.buf, l.open = l.buf[:0], false
	l.line++
	for {
		part, err := l.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > MaxLine:
			return nil, l.fail("the line is longer than %d MiB", MaxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			l.open = true
			return l.buf, nil
		case err == nil:
			return l.buf, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, l.fail("cannot be read: %v", err)
		}
	}
}

// fail names the line read last.
func (l *lines) fail(format string, args ...any) error {
	return &Error{File: l.path, Line: l.line, What: fmt.Sprintf(format, args...)}
}
