package exec

import "sync/atomic"

// mask is a gpu.Mask that is made on another goroutine. Its maker calls set once after reset;
// the device calls Bits.
type mask struct {
	state atomic.Int32 // making, made or wanted
	bits  []uint32
	err   error
	ready func()
}

const (
	making = iota
	made
	wanted // ready is to be called
)

// reset says that the mask is not made yet. No step may use it.
func (m *mask) reset() {
	m.state.Store(making)
	m.bits, m.err = nil, nil
}

// set gives the mask, or why there is none. The bits are frozen until the next reset.
func (m *mask) set(bits []uint32, err error) {
	m.bits, m.err = bits, err
	if m.state.Swap(made) == wanted {
		m.ready()
	}
}

// want has ready called once the mask is made, however often it is wanted before.
func (m *mask) want() {
	if !m.state.CompareAndSwap(making, wanted) && m.state.Load() == made {
		m.ready()
	}
}

// Bits implements gpu.Mask.
func (m *mask) Bits() (bits []uint32, err error, ready bool) {
	if m.state.Load() != made {
		return nil, nil, false
	}
	return m.bits, m.err, true
}
