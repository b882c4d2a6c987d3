package exec

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// ready is called once, whether the mask is wanted before it is made or after.
func TestMaskIsWanted(t *testing.T) {
	calls := 0
	m := mask{ready: func() { calls++ }}
	m.set([]uint32{1}, nil)
	if bits, err, ready := m.Bits(); !ready || err != nil || len(bits) != 1 || calls != 0 {
		t.Fatalf("made: %v, %v, %t, %d calls", bits, err, ready, calls)
	}
	m.want()
	if calls != 1 {
		t.Fatalf("wanted after it was made: %d calls", calls)
	}
	m.reset()
	if bits, _, ready := m.Bits(); ready || bits != nil {
		t.Fatal("a mask that is not made is ready")
	}
	m.want()
	if _, _, ready := m.Bits(); ready || calls != 1 {
		t.Fatalf("wanted before it was made: ready %t, %d calls", ready, calls)
	}
	m.set([]uint32{2}, nil)
	if _, _, ready := m.Bits(); !ready || calls != 2 {
		t.Fatalf("made: ready %t, %d calls", ready, calls)
	}
	m.reset()
	m.set(nil, nil)
	if calls != 2 {
		t.Error("the mask after a wanted one is reported as well")
	}
}

// A row that is late again, because it was woken for another mask, still waits for this one.
func TestMaskIsWantedAgain(t *testing.T) {
	calls := 0
	m := mask{ready: func() { calls++ }}
	m.want()
	m.want()
	if calls != 0 {
		t.Fatalf("before it is made: %d calls", calls)
	}
	if m.set(nil, nil); calls != 1 {
		t.Errorf("made: %d calls", calls)
	}
}

// The mask of a row that is closed wakes nobody: the request may have another row, and wait for
// the mask of that.
func TestMaskOfAClosedRow(t *testing.T) {
	s := constraints{turns: make(chan struct{}, 1)}
	for _, closed := range []bool{false, true} {
		calls := 0
		c := s.open(&messages.EngineRequest{Prompt: []int32{1}}, nil, func(messages.RequestID) { calls++ })
		c.mask.reset()
		c.mask.want()
		c.closed.Store(closed)
		s.do(c, func() error { return nil })
		if want := map[bool]int{false: 1, true: 0}[closed]; calls != want {
			t.Errorf("closed %t: %d calls", closed, calls)
		}
	}
}
