//go:build cuda

package cuda

import (
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// Arrays of step.in, in order.
const (
	inHeaders = iota
	inTokenID
	inTokenPosition
	inTokenRow
	inOutputToken
	inSamples
	inScores
	inHistory
	inBias
	inMasked
	inAllowed
	inWrites
)

// upload copies the step to the device and applies the changes of the page table.
func (s *step) upload() error {
	m := s.model
	s.head = s.head[:0]
	for range s.tiles {
		s.head = append(s.head, stepHeader{})
	}
	if len(s.head) == 0 { // nothing is wanted; the body needs a header all the same
		s.head = append(s.head, stepHeader{})
	}
	arrays := [...][]byte{
		bytesOf(s.head), bytesOf(s.tokenID), bytesOf(s.tokenPosition), bytesOf(s.tokenRow), bytesOf(s.outputToken),
		bytesOf(s.samples), bytesOf(s.scores), bytesOf(s.history), bytesOf(s.bias), bytesOf(s.masked), bytesOf(s.allowed), bytesOf(s.writes),
	}
	var sizes [len(arrays)]int64
	for i, a := range arrays {
		sizes[i] = int64(len(a))
	}
	if err := s.in.lay(m.device, true, sizes[:]...); err != nil {
		return err
	}
	if err := s.out.lay(m.device, true, size[sampleResult](len(s.samples)), size[scoreResult](s.results), size[topEntry](s.top)); err != nil {
		return err
	}
	if err := s.kept.lay(m.device, false, 4*int64(s.keeps)*int64(m.program.Vocab)); err != nil {
		return err
	}
	if s.in.grown || s.out.grown {
		s.in.grown, s.out.grown = false, false
		m.countBytes()
	}
	s.fillHeaders()
	arrays[inHeaders] = bytesOf(s.head)
	for i, a := range arrays {
		copy(s.in.bytes()[s.in.at(i):], a)
	}
	if err := s.in.upload(m.stream); err != nil {
		return err
	}
	if err := m.stream.Copy(m.pool.headers, 0, s.in.device, s.in.at(inHeaders), sizes[inHeaders]); err != nil {
		return err
	}
	if n := len(s.writes); n > 0 {
		blocks := driver.Dim{X: ceilDiv(n, along)}
		return m.stream.Launch(m.kernels.functions["apply_pages"], blocks, driver.Dim{X: along}, 0,
			[]uint64{s.in.address(inWrites), uint64(n), m.pool.tables.Address(), uint64(m.pool.stride)})
	}
	return nil
}

func size[T any](n int) int64 { return int64(n) * int64(unsafe.Sizeof(*new(T))) }

// fillHeaders writes the headers of the tiles.
func (s *step) fillHeaders() {
	o := s.model.pool
	for i := range s.head {
		t := tile{}
		if i < len(s.tiles) {
			t = s.tiles[i]
		}
		s.head[i] = stepHeader{
			tokens: int32(len(s.tokenID)), outputs: int32(t.outputs), samples: int32(t.samples), scores: int32(t.scores),
			pageShift: o.pageShift(), pageStride: int32(o.stride), vocab: int32(s.model.program.Vocab),
			tokenID: s.in.address(inTokenID), tokenPosition: s.in.address(inTokenPosition), tokenRow: s.in.address(inTokenRow),
			outputToken: s.in.address(inOutputToken) + 4*uint64(t.first), pageTable: o.tables.Address(), sampled: o.sampled(),
			sample:  s.in.address(inSamples) + uint64(size[sampleSpec](t.firstSample)),
			score:   s.in.address(inScores) + uint64(size[scoreSpec](t.firstScore)),
			history: s.in.address(inHistory), bias: s.in.address(inBias), masked: s.in.address(inMasked), allowed: s.in.address(inAllowed),
			sampleResult: s.out.address(0) + uint64(size[sampleResult](t.firstSample)),
			scoreResult:  s.out.address(1) + uint64(size[scoreResult](t.firstResult)), top: s.out.address(2),
		}
	}
}
