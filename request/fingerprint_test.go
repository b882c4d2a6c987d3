package request

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Outputs carry the fingerprint of the engine that computed the request's tokens, also
// when another engine's results come in between, and after its own engine is lost.
func TestOutputsNameTheirEngine(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	s := submission()
	s.Params.MaxTokens = 2
	one, _ := r.submit(1, "", s)
	other, _ := r.submit(2, "", s)
	token := func(id messages.RequestID, at int, fingerprint string) {
		t.Helper()
		r.results(messages.StepResults{Fingerprint: fingerprint, Tokens: []messages.TokenResult{{ID: id, Position: at, Token: 3}}})
	}
	token(1, 0, "first")
	token(2, 0, "second")
	r.end()
	r.step(&messages.AbortRequests{All: true})
	for c, want := range map[*client]string{one: "first", other: "second"} {
		if c.read(); len(c.outputs) != 2 || c.finish[0] == nil {
			t.Fatalf("%d outputs", len(c.outputs))
		}
		for _, out := range c.outputs {
			if out.Fingerprint != want {
				t.Errorf("an output has the fingerprint %q, want %q", out.Fingerprint, want)
			}
		}
	}
	// A request that has no output yet begins anew on any engine.
	r.start()
	late, _ := r.submit(3, "", s)
	r.results(messages.StepResults{Fingerprint: "third", Admitted: late.accepted})
	r.end()
	resubmitted := r.start()
	if len(resubmitted) != 1 || resubmitted[0].Fingerprint != "" {
		t.Fatalf("submitted again: %+v", resubmitted)
	}
	token(3, 0, "fourth")
	if late.read(); len(late.outputs) != 1 || late.outputs[0].Fingerprint != "fourth" {
		t.Errorf("%+v", late.outputs)
	}
}
