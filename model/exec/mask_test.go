package exec

import "testing"

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
