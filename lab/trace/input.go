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

// input is an open file, unpacked.
type input struct {
	path string
	file *os.File
	size int64 // 0 if unknown
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
	raw := bufio.NewReaderSize(in.file, 64<<10)
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
		unpacked, err = xz.NewReader(raw, maxDictionary)
	default:
		in.Reader = raw
		return nil
	}
	if err != nil {
		return &Error{File: in.path, What: "cannot be unpacked: " + worded(err).Error()}
	}
	in.Reader = bufio.NewReaderSize(unpacked, 64<<10)
	return nil
}

// maxDictionary bounds the memory that an xz file requires for its dictionary: up to
// 4 GiB by the format, 64 MiB with xz's highest preset.
const maxDictionary = 64 << 20

func (in *input) Progress() (read, size int64) {
	read, _ = in.file.Seek(0, io.SeekCurrent) // 0 for a pipe, whose size is unknown as well
	return read, in.size
}

func (in *input) Close() error { return in.file.Close() }

type lines struct {
	*input
	scan *bufio.Scanner
	line int  // number of the line read last
	open bool // the line read last has no line end, so the file ends there
}

func openLines(path string) (*lines, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	if head, _ := in.Peek(len(bom)); bytes.Equal(head, bom) {
		in.Discard(len(bom)) // what was peeked can be discarded
	}
	l := &lines{input: in, scan: bufio.NewScanner(in)}
	l.scan.Buffer(nil, MaxLine+1)
	l.scan.Split(func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		l.open = bytes.IndexByte(data, '\n') < 0
		return bufio.ScanLines(data, atEOF)
	})
	return l, nil
}

// next returns the next line that is not blank, without its end. The next call reuses it.
func (l *lines) next() ([]byte, error) {
	for {
		l.line++
		if !l.scan.Scan() {
			switch err := l.scan.Err(); {
			case err == nil:
				return nil, io.EOF
			case errors.Is(err, bufio.ErrTooLong):
				return nil, l.fail("the line is longer than %d MiB", MaxLine>>20)
			default:
				return nil, l.fail("cannot be read: %v", worded(err))
			}
		}
		text := bytes.TrimSpace(l.scan.Bytes())
		if len(text) == 0 {
			continue
		}
		if !utf8.Valid(text) {
			return nil, l.fail("the text is not UTF-8")
		}
		return text, nil
	}
}

// fail names the line read last.
func (l *lines) fail(format string, args ...any) error {
	return &Error{File: l.path, Line: l.line, What: fmt.Sprintf(format, args...)}
}
