package former

// verdict is what becomes of a candidate.
type verdict uint8

const (
	admit   verdict = iota
	wait            // for a prefix that another request is computing; those after it may overtake
	refuse          // and with it all after it
	discard         // it has ended
)

// decision is a verdict, with what goes with it.
type decision struct {
	verdict
	victims []victim // sequences that are retracted for the candidate
	short   int      // pages that it needs, if it is refused for them
}

// round decides about the candidates of one plan, one after the other, after their
// prefixes are locked. Requests are admitted in order, up to the first that is
// refused. None overtakes, except one that waits for a prefix.
//
// A candidate is charged as by SGLang (PrefillAdder.add_one_req): what must be
// computed plus the expected output, in whole pages, against the headroom.
type round struct {
	snapshot
	admission *admission
	pressure  *pressure
	left      int  // of the headroom
	closed    bool // no further candidate is admitted
}

// decide decides about a candidate that is charged need pages. The first rule counts.
func (r *round) decide(c *planCandidate, need int) decision {
	s := c.seq
	switch {
	case c.ended:
		return decision{verdict: discard}
	case r.closed:
		return decision{verdict: refuse}
	case r.batchIsEmpty():
		return decision{verdict: admit}
	case r.mustRunAlone(s), r.alone():
		r.closed = true
		return decision{verdict: refuse}
	case r.waitsForPrefix(s):
		return decision{verdict: wait}
	}
	return r.fit(s, need)
}

// batchIsEmpty: a request is admitted whatever it needs if no other one runs. Intake
// refuses what does not fit into the whole pool.
func (r *round) batchIsEmpty() bool { return len(r.running) == 0 && r.freeRows > 0 }

// mustRunAlone: the running batch is drained for a request that must run alone.
func (r *round) mustRunAlone(s *sequence) bool {
	if !s.alone() {
		return false
	}
	r.admission.drainFor = s.req.ID
	return true
}

// waitsForPrefix: a new request waits for a prefix that a running one is computing.
// A retracted one has its own in the cache.
func (r *round) waitsForPrefix(s *sequence) bool {
	return s.state == candidate && r.admission.producers.awaited(s, r.opt.PageSize)
}

// fit admits a request if there is a row and headroom, if need be after preempting
// others. Nothing is admitted after a request that has preempted others.
func (r *round) fit(s *sequence, need int) (d decision) {
	if need > r.left || r.freeRows == 0 {
		d.victims = r.pressure.preempt(&r.snapshot, s.req, need-r.left)
		r.left += r.freed(d.victims)
		r.closed = len(d.victims) > 0
		if need > r.left {
			d.short = need
		}
	}
	if need > r.left || r.freeRows == 0 {
		d.verdict, r.closed = refuse, true
	}
	return d
}

func (r *round) admitted(s *sequence, need int) {
	r.left, r.freeRows = r.left-need, r.freeRows-1
	r.admission.producers.add(s)
	r.admission.block = headOfLineBlock{}
	if r.admission.drainFor == s.req.ID {
		r.admission.drainFor = 0
	}
}
