package former

import "testing"

// Memory that is used again keeps no references to requests that have ended.
func TestMemoryKeepsNoReferences(t *testing.T) {
	v := newVirtual(Options{PageSize: 4, Pages: 40, MaxRunning: 8, ContextLength: 160, ChunkedPrefillSize: 32, StepsInFlight: 2, InitNewTokenRatio: 0.01}, linear)
	for range 12 {
		v.enqueue(30, 60, nil)
	}
	for v.step() {
	}
	f := v.former
	if len(v.ended) != 12 || v.retractions == 0 || f.Load() != (Load{Resting: true}) {
		t.Fatalf("%d ended after %d retractions, %+v is left", len(v.ended), v.retractions, f.Load())
	}
	held := 0
	for _, fl := range f.flight.steps[:cap(f.flight.steps)] {
		for _, w := range fl.work[:cap(fl.work)] {
			if w.seq != nil {
				held++
			}
		}
		for _, o := range fl.batch.Opened[:cap(fl.batch.Opened)] {
			if o.Request != nil {
				held++
			}
		}
	}
	for _, v := range f.pressure.victims[:cap(f.pressure.victims)] {
		if v.s != nil {
			held++
		}
	}
	for _, list := range [][]*sequence{f.batch.running, f.batch.retracted, f.admission.producers, f.prefill.order, f.plan.reserves} {
		for _, s := range list[:cap(list)] {
			if s != nil {
				held++
			}
		}
	}
	for _, g := range f.pages.released[:cap(f.pages.released)] {
		if g.tokens != nil {
			held++
		}
	}
	for _, c := range f.admission.candidates[:cap(f.admission.candidates)] {
		if c.seq != nil {
			held++
		}
	}
	if held > 0 {
		t.Errorf("%d references to requests that ended", held)
	}
}
