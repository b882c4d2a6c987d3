//go:build cuda

package cuda

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// exchange is pinned memory of the host and memory of the device of the same size, in
// which the arrays of a step follow each other. It grows, and never shrinks.
type exchange struct {
	host    *driver.Pinned
	device  *driver.Memory
	offsets []int64 // of the arrays
	used    int64
	grown   bool // since it was last asked
}

// lay places arrays of these sizes in bytes. Memory that is too small is replaced, with
// room for growth: no copy may be under way.
func (x *exchange) lay(d *driver.Device, onDevice bool, sizes ...int64) (err error) {
	x.offsets, x.used = x.offsets[:0], 0
	for _, n := range sizes {
		x.offsets = append(x.offsets, x.used)
		x.used += aligned(n)
	}
	if x.host != nil && int64(len(x.host.Bytes())) >= x.used {
		return nil
	}
	if err := x.free(); err != nil {
		return err
	}
	size := max(64<<10, x.used+x.used/2)
	if x.host, err = d.Pin(size); err != nil || !onDevice {
		return err
	}
	if x.device, err = take(d, "the data of a step", size, "Lower chunked-prefill-size and max-running-requests"); err != nil {
		err = errors.Join(err, x.free())
	}
	x.grown = true
	return err
}

func (x *exchange) at(i int) int64 { return x.offsets[i] }

// address is that of an array on the device.
func (x *exchange) address(i int) uint64 { return x.device.Address() + uint64(x.offsets[i]) }

func (x *exchange) bytes() []byte {
	if x.host == nil {
		return nil
	}
	return x.host.Bytes()
}

func (x *exchange) upload(s *driver.Stream) error {
	return s.Upload(x.device, 0, x.host, 0, x.used)
}

func (x *exchange) download(s *driver.Stream) error {
	return s.Download(x.host, 0, x.device, 0, x.used)
}

func (x *exchange) deviceBytes() int64 {
	if x.device == nil {
		return 0
	}
	return x.device.Size()
}

func (x *exchange) free() error {
	err := errors.Join(x.host.Close(), x.device.Close())
	x.host, x.device = nil, nil
	return err
}
