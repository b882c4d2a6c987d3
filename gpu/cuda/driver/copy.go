//go:build cuda && cgo && linux && amd64

package driver

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Upload adds a copy of n bytes from offset from of the pinned buffer to offset to of the
// device's memory. The bytes must not change until it is done.
func (s *Stream) Upload(m *Memory, to int64, p *Pinned, from, n int64) error {
	const call = "cuMemcpyHtoDAsync"
	if err := s.copies(call, &m.handle, to, m.size, &p.handle, from, int64(len(p.bytes)), n); err != nil || n == 0 {
		return err
	}
	return s.result(call, cu.MemcpyHtoDAsync(m.address+cu.DevicePtr(to), unsafe.Pointer(&p.bytes[from]), n, s.stream))
}

// Download adds a copy of n bytes from offset from of the device's memory to offset to of
// the pinned buffer, which must not be read before it is done.
func (s *Stream) Download(p *Pinned, to int64, m *Memory, from, n int64) error {
	const call = "cuMemcpyDtoHAsync"
	if err := s.copies(call, &p.handle, to, int64(len(p.bytes)), &m.handle, from, m.size, n); err != nil || n == 0 {
		return err
	}
	return s.result(call, cu.MemcpyDtoHAsync(unsafe.Pointer(&p.bytes[to]), m.address+cu.DevicePtr(from), n, s.stream))
}

// Copy adds a copy of n bytes inside the device's memory. The ranges must not overlap.
func (s *Stream) Copy(dst *Memory, to int64, src *Memory, from, n int64) error {
	const call = "cuMemcpyDtoDAsync"
	if err := s.copies(call, &dst.handle, to, dst.size, &src.handle, from, src.size, n); err != nil || n == 0 {
		return err
	}
	return s.result(call, cu.MemcpyDtoDAsync(dst.address+cu.DevicePtr(to), src.address+cu.DevicePtr(from), n, s.stream))
}

// Fill adds setting the n bytes at offset at of the device's memory to value.
func (s *Stream) Fill(m *Memory, at, n int64, value byte) error {
	const call = "cuMemsetD8Async"
	if err := s.copies(call, &m.handle, at, m.size, &m.handle, at, m.size, n); err != nil || n == 0 {
		return err
	}
	return s.result(call, cu.MemsetD8Async(m.address+cu.DevicePtr(at), value, n, s.stream))
}

// copies returns an error unless stream and blocks are open, on one device, and have the
// ranges.
func (s *Stream) copies(call string, dst *handle, to, dstSize int64, src *handle, from, srcSize, n int64) error {
	if err := s.usable(call); err != nil {
		return err
	}
	if err := dst.span(call, to, n, dstSize); err != nil {
		return err
	}
	if err := src.span(call, from, n, srcSize); err != nil {
		return err
	}
	if dst.device != s.device || src.device != s.device {
		return misuse(s.device.description.Ordinal, call, "stream and memory are of different devices")
	}
	return nil
}
