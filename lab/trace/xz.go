package trace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// maxDictionary bounds the dictionary of an xz file, which is memory that the
// file asks for, up to 4 GiB: 64 MiB is what the highest preset of xz takes.
const maxDictionary = 64 << 20

// xzReader reads the .xz container, by its specification (tukaani.org/xz,
// version 1.1.0): streams of blocks that LZMA2 alone has packed, as xz makes
// them for text. It does what the container's package beside lzma does, but
// for the bound on dictionaries, which that one has not.
type xzReader struct {
	in    *bufio.Reader
	check byte      // the stream's kind of checksum
	block io.Reader // unpacked; nil between blocks
	size  int64     // of the block so far, packed
	sum   hash.Hash // of the block; nil for a stream without checksums
	err   error
}

var (
	errDamaged = errors.New("damaged xz data")
	xzFooter   = []byte("YZ")
	crc64Table = crc64.MakeTable(crc64.ECMA)
)

// newXZ reads the head of the first stream.
func newXZ(in *bufio.Reader) (*xzReader, error) {
	x := &xzReader{in: in}
	return x, whole(x.streamHeader())
}

// whole turns an end into an unexpected one.
func whole(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read implements io.Reader.
func (x *xzReader) Read(p []byte) (n int, err error) {
	for n == 0 && x.err == nil && len(p) > 0 {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		if n, err = x.block.Read(p); err == io.EOF {
			x.block, err = nil, whole(x.endBlock())
		}
		x.err = err
	}
	if n > 0 {
		return n, nil
	}
	return 0, x.err
}

func (x *xzReader) streamHeader() error {
	var head [12]byte // magic, two flags, CRC32 of these
	if _, err := io.ReadFull(x.in, head[:]); err != nil {
		return err
	}
	flags := head[6:8]
	if !bytes.Equal(head[:6], xzMagic) || crc32.ChecksumIEEE(flags) != binary.LittleEndian.Uint32(head[8:]) || flags[0] != 0 {
		return errDamaged
	}
	x.check = flags[1]
	if _, err := x.newSum(); err != nil {
		return err
	}
	return nil
}

func (x *xzReader) newSum() (hash.Hash, error) {
	switch x.check {
	case 0:
		return nil, nil
	case 1:
		return crc32.NewIEEE(), nil
	case 4:
		return crc64.New(crc64Table), nil
	case 10:
		return sha256.New(), nil
	}
	return nil, fmt.Errorf("checksums of kind %d are not known", x.check)
}

// next begins the next block, or returns io.EOF behind the last stream.
func (x *xzReader) next() error {
	for {
		size, err := x.in.ReadByte()
		if err != nil {
			return whole(err)
		}
		if size != 0 {
			return whole(x.beginBlock(size))
		}
		if err := x.endStream(); err != nil {
			return whole(err)
		}
		for {
			head, err := x.in.Peek(4)
			if len(head) == 0 && err == io.EOF {
				return io.EOF
			}
			if err != nil {
				return whole(err)
			}
			if !bytes.Equal(head, make([]byte, 4)) {
				break
			}
			x.in.Discard(4) // padding, which was peeked
		}
		if err := x.streamHeader(); err != nil {
			return whole(err)
		}
	}
}

// beginBlock reads the rest of a block's header, whose first byte is its length
// in words of 4 bytes less 1.
func (x *xzReader) beginBlock(size byte) error {
	head := make([]byte, (int(size)+1)*4)
	head[0] = size
	if _, err := io.ReadFull(x.in, head[1:]); err != nil {
		return err
	}
	rest := len(head) - 4
	if crc32.ChecksumIEEE(head[:rest]) != binary.LittleEndian.Uint32(head[rest:]) {
		return errDamaged
	}
	flags, fields := head[1], bytes.NewReader(head[2:rest])
	for _, sizes := range []byte{0x40, 0x80} { // packed and unpacked, which the checksum vouches for
		if flags&sizes != 0 {
			if _, err := binary.ReadUvarint(fields); err != nil {
				return errDamaged
			}
		}
	}
	filter := make([]byte, 3) // LZMA2, one byte of properties, the dictionary
	if _, err := io.ReadFull(fields, filter); err != nil {
		return errDamaged
	}
	if flags&0x3f != 0 || filter[0] != 0x21 || filter[1] != 1 || filter[2] > 40 {
		return errors.New("packed by other filters than LZMA2; pack it with xz and without filters")
	}
	dictionary := int64(2|filter[2]&1) << (filter[2]/2 + 11)
	if dictionary > maxDictionary {
		return fmt.Errorf("packed with a dictionary of %d MiB, at most %d are taken; pack it with xz -9 or less", dictionary>>20, maxDictionary>>20)
	}
	x.size = 0
	unpacked, err := lzma.Reader2Config{DictCap: int(max(dictionary, lzma.MinDictCap))}.NewReader2(countingReader{x.in, &x.size})
	if err != nil {
		return err
	}
	x.block = unpacked
	if x.sum, err = x.newSum(); err == nil && x.sum != nil {
		x.block = io.TeeReader(unpacked, x.sum)
	}
	return err
}

// endBlock reads what is behind a block: padding to 4 bytes and the checksum.
func (x *xzReader) endBlock() error {
	var sum []byte
	if x.sum != nil {
		sum = x.sum.Sum(nil)
	}
	padding := int(-x.size & 3)
	tail := make([]byte, padding+len(sum))
	if _, err := io.ReadFull(x.in, tail); err != nil {
		return err
	}
	if x.check != 10 {
		slices.Reverse(sum) // CRCs stand in little endian
	}
	if !bytes.Equal(tail[:padding], make([]byte, padding)) || !bytes.Equal(tail[padding:], sum) {
		return errDamaged
	}
	return nil
}

// endStream reads the index, whose first byte has been read, and the footer.
func (x *xzReader) endStream() error {
	index := &indexReader{in: x.in, sum: crc32.NewIEEE()}
	index.sum.Write([]byte{0})
	records, err := binary.ReadUvarint(index)
	if err != nil {
		return err
	}
	for range records { // each at least two bytes of the file
		for range 2 {
			if _, err := binary.ReadUvarint(index); err != nil {
				return err
			}
		}
	}
	for (index.size+1)%4 != 0 {
		if _, err := index.ReadByte(); err != nil {
			return err
		}
	}
	var tail [16]byte // CRC32 of the index; the footer: CRC32, size, flags, magic
	if _, err := io.ReadFull(x.in, tail[:]); err != nil {
		return err
	}
	if index.sum.Sum32() != binary.LittleEndian.Uint32(tail[:]) || crc32.ChecksumIEEE(tail[8:14]) != binary.LittleEndian.Uint32(tail[4:]) ||
		tail[13] != x.check || !bytes.Equal(tail[14:], xzFooter) {
		return errDamaged
	}
	return nil
}

// indexReader reads single bytes into a checksum.
type indexReader struct {
	in   *bufio.Reader
	sum  hash.Hash32
	size int
}

// ReadByte implements io.ByteReader.
func (r *indexReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.size++
		r.sum.Write([]byte{b})
	}
	return b, err
}
