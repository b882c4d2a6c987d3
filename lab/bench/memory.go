package bench

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/roofline"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// readChunk is what a thread reads at once, in about 25 µs, like a unit of a step.
const readChunk = 512 << 10

// Memory measures how fast threads read memory that no cache holds. It is outside
// of the Go heap, in large pages if possible. Not safe for concurrent use.
type Memory struct {
	bytes []byte
	free  func() error
	level simd.Level
	sink  atomic.Uint32
}

// NewMemory allocates whole chunks and writes them, so that none is one page of zeros.
func NewMemory(bytes int64, level simd.Level) (*Memory, error) {
	n := bytes / readChunk * readChunk
	if n < readChunk || n > 1<<46 {
		return nil, fmt.Errorf("--read-bytes is %d; it must be between %d and %d, and should be more than the CPU caches", bytes, readChunk, int64(1<<46))
	}
	b, free, err := cpu.Reserve(int(n))
	if err != nil {
		return nil, fmt.Errorf("cannot allocate memory for measuring the bandwidth: %w; lower --read-bytes", err)
	}
	m := &Memory{bytes: b, free: free, level: level}
	var all sync.WaitGroup
	const writers = 4
	for i := range writers {
		all.Go(func() {
			for at := i * readChunk; at < len(b); at += writers * readChunk {
				part := b[at : at+readChunk]
				part[0] = 1
				for done := 1; done < len(part); done *= 2 {
					copy(part[done:], part[:done])
				}
			}
		})
	}
	all.Wait()
	return m, nil
}

func (m *Memory) Level() simd.Level { return m.level }

func (m *Memory) Size() int64 { return int64(len(m.bytes)) }

// Bytes is the memory itself, for other measurements in between. It may be written.
func (m *Memory) Bytes() []byte { return m.bytes }

// Bandwidth reads all of it once, threads chunk by chunk, and returns bytes per second.
func (m *Memory) Bandwidth(threads int) float64 {
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range threads {
		all.Go(func() {
			sum := float32(0)
			for {
				at := next.Add(readChunk) - readChunk
				if at >= int64(len(m.bytes)) {
					break
				}
				sum += roofline.ReadSum(m.level, m.bytes[at:at+readChunk])
			}
			m.sink.Store(uint32(sum)) // or it might not be computed
		})
	}
	all.Wait()
	return float64(len(m.bytes)) / time.Since(start).Seconds()
}

func (m *Memory) Close() error { return m.free() }
