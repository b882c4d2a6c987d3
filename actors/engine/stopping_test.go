package engine

import "testing"

// An engine can be stopped at any moment, also while its actors panic, and no actor
// handles a message afterwards.
func TestAStopAmidCrashesComesToAnEnd(t *testing.T) {
	system := quietSystem()
	for seed := range uint64(200) {
		p := newPlot(2000 + seed)
		p.crash, p.crashBehind = 0.05, 0.05
		w := newWorld(p)
		if err := w.start(system); err != nil {
			t.Fatal(err)
		}
		for range w.rnd.IntN(400) {
			w.turn()
		}
		w.stop()
		if w.failure != nil {
			t.Fatalf("%v: %v", p, w.failure)
		}
		seen := w.roleSeen
		for range 1000 {
			if !w.order.Turn() {
				break
			}
		}
		if w.roleSeen != seen {
			t.Fatalf("%v: messages by role when it stopped %v, some time later %v", p, seen, w.roleSeen)
		}
	}
}
