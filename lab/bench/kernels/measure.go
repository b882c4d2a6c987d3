package kernels

import (
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/roofline"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/measure"
)

// Limit is what bounds a kernel that computes.
type Limit uint8

const (
	NoLimit     Limit = iota
	MultiplyAdd       // float32, two operations each
	IntegerDot        // products of int8, summed; two operations each
)

// Case is one kernel at one size.
type Case struct {
	Level  simd.Level
	Kernel string // "gemm", "integer gemm", "attention decode", …
	Form   string // of weights, or of K and V
	Tokens int    // rows of activations, or queries; 0 if there are none
	Shape  string // "[8960, 1536]"

	Bytes      float64 // that a call of Do reads (and writes, without weights)
	Operations float64 // 0: not counted
	Cold       bool    // Bytes come from memory
	Limit      Limit
	Do         func()
	y          []float32 // what a product computes
}

// Result is the measurement of a case: medians of the rounds, also of their shares.
type Result struct {
	Level  string `json:"level"`
	Kernel string `json:"kernel"`
	Form   string `json:"form,omitempty"`
	Tokens int    `json:"tokens,omitempty"`
	Shape  string `json:"shape"`

	Microseconds     float64 `json:"us"` // of own processor time a call
	BytesPerSecond   float64 `json:"bytes_per_second"`
	ShareOfRead      float64 `json:"share_of_read_bandwidth,omitempty"` // of one thread; 0: does not apply
	OperationsPerSec float64 `json:"operations_per_second,omitempty"`
	ShareOfPeak      float64 `json:"share_of_peak,omitempty"`
	Limit            string  `json:"limit,omitempty"`
	// The limits as they were measured.
	ReadBandwidth float64 `json:"read_bandwidth_bytes_per_second,omitempty"`
	Peak          float64 `json:"peak_operations_per_second,omitempty"`
}

type Meter struct {
	// Memory is what the bandwidth is measured with, more than any cache holds;
	// a multiple of 512 bytes.
	Memory []byte
	Rounds int           // of which the median counts
	Least  time.Duration // own processor time of a part of a round

	at   int
	sink float32
}

// Measure runs the case and its limits in turns.
func (m *Meter) Measure(c Case) Result {
	r := Result{Level: c.Level.String(), Kernel: c.Kernel, Form: c.Form, Tokens: c.Tokens, Shape: c.Shape}
	c.Do()
	var seconds, reads, peaks, readShares, peakShares []float64
	for range m.Rounds {
		took := m.own(c.Do)
		seconds = append(seconds, took)
		if c.Cold {
			read := float64(m.chunk()) / m.own(m.read)
			reads, readShares = append(reads, read), append(readShares, c.Bytes/took/read)
		}
		if c.Limit != NoLimit {
			peak := m.peak(c.Level, c.Limit)
			peaks, peakShares = append(peaks, peak), append(peakShares, c.Operations/took/peak)
		}
	}
	middle := bench.Summarise(seconds).Median
	r.Microseconds, r.BytesPerSecond, r.OperationsPerSec = middle*1e6, c.Bytes/middle, c.Operations/middle
	r.ShareOfRead, r.ReadBandwidth = bench.Summarise(readShares).Median, bench.Summarise(reads).Median
	r.ShareOfPeak, r.Peak = bench.Summarise(peakShares).Median, bench.Summarise(peaks).Median
	r.Limit = [...]string{"", "multiply-add", "integer dot"}[c.Limit]
	return r
}

// own is the processor time of a call, in seconds.
func (m *Meter) own(f func()) float64 {
	calls, start := 0, measure.CPUTime()
	for {
		f()
		calls++
		if used := measure.CPUTime() - start; used >= m.Least {
			return max(used.Seconds(), 1e-9) / float64(calls)
		}
	}
}

// chunk is the number of bytes that read reads.
func (m *Meter) chunk() int { return min(64<<20, len(m.Memory)) }

// read continues where it stopped.
func (m *Meter) read() {
	n := m.chunk()
	if m.at+n > len(m.Memory) {
		m.at = 0
	}
	for end := m.at + n; m.at < end; {
		part := min(512<<10, end-m.at)
		m.sink += roofline.ReadSum(simd.Best(), m.Memory[m.at:m.at+part])
		m.at += part
	}
}

// peak is operations per second.
func (m *Meter) peak(l simd.Level, limit Limit) float64 {
	do := roofline.MultiplyAdds
	if limit == IntegerDot {
		do = roofline.IntMultiplyAdds
	}
	const rounds = 4096 // some ten microseconds at most
	operations := 0
	took := m.own(func() { operations = do(l, rounds) })
	return float64(operations) / took
}
