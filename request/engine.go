package request

import "github.com/troupe-engine/troupe/messages"

// engine is what intake knows of one engine. It outlives the engine's epochs.
type engine struct {
	header messages.Header // of the newest epoch
	up     bool            // the epoch's actors accept requests
	failed bool            // FailEpoch was sent: results of the epoch are ignored
	// isolates: dispatch gives a quarantined request an engine without others.
	isolates bool
	seq      uint64 // of the last StepResults accepted in the epoch
	// isolated is the quarantined request that runs alone, 0: none. It is set until the
	// request's next token, its release or the end of the epoch. Not used if isolates is set.
	isolated messages.RequestID
}

// start begins an epoch. It reports false if it is not newer than the last one.
func (g *engine) start(h messages.Header) bool {
	if h.Epoch <= g.header.Epoch {
		return false
	}
	*g = engine{header: h, up: true}
	return true
}

// end ends an epoch and returns the request that was isolated in it. It reports false
// if the epoch has ended already or a newer one is known.
func (g *engine) end(h messages.Header) (isolated messages.RequestID, ok bool) {
	if h.Epoch < g.header.Epoch || h.Epoch == g.header.Epoch && !g.up {
		return 0, false
	}
	isolated = g.isolated
	g.header, g.up, g.isolated = h, false, 0
	return isolated, true
}

func (g *engine) answers() bool { return g.up && !g.failed }

// expects: the results are of the current epoch and not repeated.
func (g *engine) expects(m *messages.StepResults) bool {
	return m.Header == g.header && g.answers() && m.Seq > g.seq
}
