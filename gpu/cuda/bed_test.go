//go:build cuda

package cuda

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// bed runs single kernels, on a GPU or on the emulation. It belongs to the goroutine that
// made it. Its methods end the test if a call fails.
type bed struct {
	t       testing.TB
	device  *driver.Device
	stream  *driver.Stream
	kernels *kernelSet
	pinned  *driver.Pinned
	random  *rand.Rand
	taken   []*driver.Memory
	guards  []guard
	zeroed  []guard // counters
}

// guard is memory after an output that no kernel may write.
type guard struct {
	memory *driver.Memory
	at     int64
}

const (
	guardBytes = 256
	unwritten  = 0x5a // fills outputs before a kernel runs
)

// stagingMost is the largest copy of a bed.
const stagingMost = 8 << 20

func newBed(t testing.TB) *bed {
	t.Helper()
	library, ordinal, err := cudaemu.Device("kernels")
	b := &bed{t: t}
	b.must(err)
	b.must(driver.Open(driver.Options{Library: library}))
	b.device, err = driver.Retain(ordinal)
	b.must(err)
	t.Cleanup(func() {
		b.release()
		if err := errors.Join(b.pinned.Close(), b.stream.Close(), b.kernels.close(), b.device.Close()); err != nil {
			t.Error(err)
		}
	})
	b.stream, err = b.device.NewStream()
	b.must(err)
	b.kernels, err = loadKernels(b.device)
	b.must(err)
	b.pinned, err = b.device.Pin(stagingMost)
	b.must(err)
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// seed begins the random numbers of a name.
func (b *bed) seed(name string) {
	h := fnv.New64a()
	h.Write([]byte(name))
	b.random = rand.New(rand.NewPCG(h.Sum64(), 1))
}

// release frees what was taken.
func (b *bed) release() {
	for _, m := range b.taken {
		if err := m.Close(); err != nil {
			b.t.Error(err)
		}
	}
	b.taken, b.guards, b.zeroed = nil, nil, nil
}

func (b *bed) take(bytes int64) *driver.Memory {
	b.t.Helper()
	m, err := b.device.Alloc(max(bytes, 16))
	b.must(err)
	b.taken = append(b.taken, m)
	return m
}

// put copies values to the device.
func put[T any](b *bed, values []T) *driver.Memory {
	b.t.Helper()
	data := bytesOf(values)
	m := b.take(int64(len(data)))
	for at := 0; at < len(data); at += stagingMost {
		n := copy(b.pinned.Bytes(), data[at:])
		b.must(b.stream.Upload(m, int64(at), b.pinned, 0, int64(n)))
		b.must(b.stream.Synchronize())
	}
	return m
}

// room is memory for an output, with a guard after it.
func (b *bed) room(bytes int64) *driver.Memory {
	b.t.Helper()
	m := b.take(bytes + guardBytes)
	b.must(b.stream.Fill(m, 0, m.Size(), unwritten))
	b.guards = append(b.guards, guard{m, bytes})
	return m
}

// zeros is memory of zeros, with a guard after it.
func (b *bed) zeros(bytes int64) *driver.Memory {
	b.t.Helper()
	m := b.room(bytes)
	b.must(b.stream.Fill(m, 0, bytes, 0))
	return m
}

// counters are n zeros that a kernel has to leave as zeros.
func (b *bed) counters(n int) uint64 {
	b.t.Helper()
	m := b.zeros(4 * int64(n))
	b.zeroed = append(b.zeroed, guard{m, 4 * int64(n)})
	return m.Address()
}

// get copies the first bytes of memory to the host.
func (b *bed) get(m *driver.Memory, bytes int64) []byte {
	b.t.Helper()
	out := make([]byte, 0, bytes)
	for at := int64(0); at < bytes; at += stagingMost {
		n := min(stagingMost, bytes-at)
		b.must(b.stream.Download(b.pinned, 0, m, at, n))
		b.must(b.stream.Synchronize())
		out = append(out, b.pinned.Bytes()[:n]...)
	}
	return out
}

// unguarded says what a kernel left that it must not; "": nothing.
func (b *bed) unguarded() string {
	for _, g := range b.guards {
		all := b.get(g.memory, g.at+guardBytes)
		if strings.Trim(string(all[g.at:]), string(rune(unwritten))) != "" {
			return "something was written after the end of an output"
		}
	}
	for _, g := range b.zeroed {
		if strings.Trim(string(b.get(g.memory, g.at)), "\x00") != "" {
			return "counters of blocks are not zero at the end"
		}
	}
	return ""
}

// run launches a kernel and waits for it.
func (b *bed) run(kernel string, grid driver.Dim, block, shared int, arguments ...uint64) {
	b.t.Helper()
	f := b.kernels.functions[kernel]
	if f == nil {
		b.t.Fatalf("no kernel is named %s", kernel)
	}
	b.must(b.stream.Launch(f, grid, driver.Dim{X: block}, shared, arguments))
	if err := b.stream.Synchronize(); err != nil {
		b.t.Fatalf("%s: %v", kernel, err)
	}
}

// floats are normal with a deviation; a few are zero, tiny or large.
func (b *bed) floats(n int, deviation float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = deviation * float32(b.random.NormFloat64())
		switch b.random.IntN(64) {
		case 0:
			x[i] = 0
		case 1:
			x[i] *= 0x1p-20
		case 2:
			x[i] *= 16
		}
	}
	return x
}

// elements are random values of a type; of int8 all codes.
func (b *bed) elements(d gpu.DType, n int, deviation float32) []byte {
	switch d {
	case gpu.F32:
		return bytesOf(b.floats(n, deviation))
	case gpu.I8:
		x := make([]byte, n)
		for i := range x {
			x[i] = byte(b.random.IntN(255) - 127)
		}
		return x
	}
	narrow := gpu.ToBF16
	if d == gpu.F16 {
		narrow = gpu.ToF16
	}
	x := make([]byte, 0, 2*n)
	for _, f := range b.floats(n, deviation) {
		x = binary.LittleEndian.AppendUint16(x, narrow(f))
	}
	return x
}

// below are random integers in [0, n).
func (b *bed) below(n, count int) []int32 {
	x := make([]int32, count)
	for i := range x {
		x[i] = int32(b.random.IntN(n))
	}
	return x
}

// header puts a step on the device and returns its address.
func (b *bed) header(h stepHeader) uint64 {
	b.t.Helper()
	return put(b, []stepHeader{h}).Address()
}

// address puts values on the device and returns where they are; 0 for none.
func address[T any](b *bed, values []T) uint64 {
	b.t.Helper()
	if len(values) == 0 {
		return 0
	}
	return put(b, values).Address()
}

// sizeOf is the bytes of n values.
func sizeOf[T any](n int) int64 { return int64(n) * int64(unsafe.Sizeof(*new(T))) }
