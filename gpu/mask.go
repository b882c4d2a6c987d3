package gpu

import "sync/atomic"

// Mask is a grammar's mask of a row's next token. It may be made while the step computes, since
// it is needed only when the token is drawn. Its maker calls Reset before the step is
// submitted, and then Set once; the device calls Bits.
type Mask struct {
	ready atomic.Bool
	bits  []uint32
	err   error
}

// Allow is a mask that is ready.
func Allow(bits []uint32) *Mask {
	m := &Mask{}
	m.Set(bits, nil)
	return m
}

// Reset says that the mask is not made yet. No step may use it.
func (m *Mask) Reset() {
	m.ready.Store(false)
	m.bits, m.err = nil, nil
}

// Set gives the mask: token t is allowed if bit t%32 of word t/32 is set. It allows at least
// one token, or err says why there is none. The bits are frozen until the next Reset.
func (m *Mask) Set(bits []uint32, err error) {
	m.bits, m.err = bits, err
	m.ready.Store(true)
}

// Bits returns what Set was given; not ready: it is still being made.
func (m *Mask) Bits() (bits []uint32, err error, ready bool) {
	if !m.ready.Load() {
		return nil, nil, false
	}
	return m.bits, m.err, true
}
