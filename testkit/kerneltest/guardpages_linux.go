package kerneltest

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fenced is memory between two inaccessible pages: a kernel that reads or writes
// outside its operands crashes the test.
type Fenced struct {
	t      testing.TB
	memory [][]byte // those before next are in use
	next   int
	front  bool // operands follow the first page instead of preceding the last one
}

// Bytes is n bytes next to a fence.
func (f *Fenced) Bytes(n int) []byte {
	if f.next == len(f.memory) {
		page, most := os.Getpagesize(), 1<<20
		m, err := unix.Mmap(-1, 0, page+most+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() {
			if err := unix.Munmap(m); err != nil {
				f.t.Error(err)
			}
		})
		for _, fence := range [][]byte{m[:page], m[page+most:]} {
			if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
				f.t.Fatal(err)
			}
		}
		f.memory = append(f.memory, m[page:page+most])
	}
	m := f.memory[f.next]
	f.next++
	if f.front {
		return m[:n]
	}
	return m[len(m)-n:]
}

// Floats is n float32 next to a fence.
func (f *Fenced) Floats(n int) []float32 {
	b := f.Bytes(4 * n)
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
}

// Fences calls do twice: with operands before a fence and after one.
func Fences(t *testing.T, do func(*Fenced)) {
	f := &Fenced{t: t}
	for _, f.front = range []bool{false, true} {
		do(f)
	}
}

// Reset makes all memory free again.
func (f *Fenced) Reset() { f.next = 0 }
