package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// scene is a running batch for the planners, with pages of 4 tokens.
type scene struct {
	rows    int                           // free
	running int                           // sequences that decode, each on 3 pages
	change  func(*sequence)               // of those that run
	option  func(*Options)                // of the batch former
	request func(*messages.EngineRequest) // the candidate
	busy    bool                          // a step is in flight
}

// round builds the round of a scene and a candidate of 8 tokens.
func (sc scene) round() (*round, *planCandidate) {
	f := New(options(func(o *Options) {
		if sc.option != nil {
			sc.option(o)
		}
	}))
	for range sc.running {
		s := f.addRunning(8, 4, 0, nil)
		s.lease.Owned = 0
		if sc.change != nil {
			sc.change(s)
		}
	}
	r := &round{snapshot: f.snapshot(), admission: &f.admission, pressure: &f.pressure, left: 10}
	r.freeRows, r.settled = sc.rows, !sc.busy
	return r, &planCandidate{seq: sequenceOf(99, 8, 0, sc.request)}
}

func mustRunAlone(r *messages.EngineRequest) { r.Alone = true }

func TestBatchIsEmpty(t *testing.T) {
	for _, c := range []struct {
		running, rows int
		want          bool
	}{{0, 1, true}, {0, 0, false}, {1, 1, false}} {
		r, _ := scene{running: c.running, rows: c.rows}.round()
		if got := r.batchIsEmpty(); got != c.want {
			t.Errorf("%d run, %d rows are free: %t", c.running, c.rows, got)
		}
	}
}

// A request that must run alone is drained for, until it has its first token.
func TestMustRunAlone(t *testing.T) {
	for _, c := range []struct {
		request func(*messages.EngineRequest)
		output  int
		want    bool
	}{{nil, 0, false}, {mustRunAlone, 0, true}, {mustRunAlone, 1, false}} {
		r, candidate := scene{running: 1, rows: 1, request: c.request}.round()
		candidate.seq.tokens = append(candidate.seq.tokens, make([]int32, c.output)...)
		if got := r.mustRunAlone(candidate.seq); got != c.want || (r.admission.drainFor == 99) != c.want {
			t.Errorf("output %d: %t, drained for %d; want %t", c.output, got, r.admission.drainFor, c.want)
		}
	}
}

func TestWaitsForPrefix(t *testing.T) {
	long := func(r *messages.EngineRequest) { r.Prompt = make([]int32, 100) }
	for _, c := range []struct {
		name    string
		request func(*messages.EngineRequest)
		state   seqState
		owned   int // pages of the producer that are in the tree
		tokens  int // of the producer
		want    bool
	}{
		{"a prompt in progress shares it", long, candidate, 0, 100, true},
		{"a retracted sequence has its own", long, retracted, 0, 100, false},
		{"the shared part is in the cache already", long, candidate, 23, 100, false},
		{"too few tokens are shared", func(r *messages.EngineRequest) { r.Prompt = make([]int32, 32) }, candidate, 0, 100, false},
		{"another prompt", func(r *messages.EngineRequest) { long(r); r.Prompt[7] = 1 }, candidate, 0, 100, false},
		{"another namespace", func(r *messages.EngineRequest) { long(r); r.Namespace = "x" }, candidate, 0, 100, false},
		{"must run alone", func(r *messages.EngineRequest) { long(r); r.Alone = true }, candidate, 0, 100, false},
	} {
		r, candidate := scene{running: 1, rows: 1, request: c.request}.round()
		candidate.seq.state = c.state
		producer := sequenceOf(5, c.tokens, 0, nil)
		producer.state, producer.lease.Owned = prefilling, c.owned
		r.admission.producers = prefixProducers{producer}
		if got := r.waitsForPrefix(candidate.seq); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// A sequence that waits for another prompt than the oldest one waits only if that
// one is computed first.
func TestOnlyShorterPromptsAreAwaited(t *testing.T) {
	oldest, longer := sequenceOf(1, 50, 0, func(r *messages.EngineRequest) { r.Prompt[0] = 9 }), sequenceOf(2, 200, 0, nil)
	c := sequenceOf(3, 100, 0, nil)
	p := prefixProducers{oldest, longer}
	if p.awaited(c, 4) {
		t.Error("it waits for a longer prompt that is not the oldest")
	}
	if longer.scheduled = 100; !p.awaited(c, 4) {
		t.Error("it does not wait for a prompt with as many tokens left")
	}
	if !p[1:].awaited(c, 4) {
		t.Error("it does not wait for the oldest prompt")
	}
}

// fit: pages and rows, and preemption when they are short.
func TestFit(t *testing.T) {
	high := func(r *messages.EngineRequest) { r.Priority = 5 }
	preempting := func(o *Options) { o.PriorityPreemption = true }
	for _, c := range []struct {
		name string
		scene
		need    int
		want    verdict
		short   int
		victims int
		room    int
		pending bool
		closed  bool
	}{
		{"fits", scene{running: 1, rows: 1}, 10, admit, 0, 0, 10, false, false},
		{"a page is short", scene{running: 1, rows: 1}, 11, refuse, 11, 0, 10, false, true},
		{"a row is short", scene{running: 1}, 10, refuse, 0, 0, 10, false, true},
		// A victim has 3 pages and is expected to need 17 more: 79 tokens on 20.
		{"preempts", scene{running: 2, rows: 1, option: preempting, request: high}, 12, admit, 0, 1, 10 + 20, false, true},
		{"preempts two", scene{running: 2, rows: 1, option: preempting, request: high}, 40, admit, 0, 2, 10 + 40, false, true},
		{"would preempt in vain", scene{running: 2, rows: 1, option: preempting, request: high}, 80, refuse, 80, 0, 10, false, true},
		{"the same priority", scene{running: 2, rows: 1, option: preempting}, 12, refuse, 12, 0, 10, false, true},
		{"a row comes with the next plan", scene{running: 2, option: preempting, request: high}, 5, refuse, 0, 1, 10 + 20, false, true},
		{"a step is in flight", scene{running: 2, rows: 1, busy: true, option: preempting, request: high}, 12, refuse, 12, 0, 10, true, true},
		{"the tree owns what a victim has", scene{running: 1, rows: 1, option: preempting, request: high, change: func(s *sequence) { s.lease.Owned = 3 }},
			29, refuse, 29, 1, 10 + 17, false, true},
	} {
		r, candidate := c.round()
		d := r.fit(candidate.seq, c.need)
		if d.verdict != c.want || d.short != c.short || len(d.victims) != c.victims || r.left != c.room || r.pressure.preemptionPending != c.pending || r.closed != c.closed {
			t.Errorf("%s: verdict %d, short of %d, %d victims, room %d, pending %t, closed %t", c.name, d.verdict, d.short, len(d.victims), r.left, r.pressure.preemptionPending, r.closed)
		}
	}
}

// The first rule that applies counts.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name string
		scene
		ended, closed, awaited bool
		need                   int
		want                   verdict
		closes                 bool
		drainFor               messages.RequestID
	}{
		{"fits", scene{running: 1, rows: 1}, false, false, false, 10, admit, false, 0},
		{"ended, after a refusal", scene{running: 1, rows: 1}, true, true, false, 1, discard, true, 0},
		{"ended", scene{rows: 1}, true, false, false, 1, discard, false, 0},
		{"after a refusal, though nothing runs", scene{rows: 1}, false, true, false, 1, refuse, true, 0},
		{"nothing runs: whatever it needs", scene{rows: 1}, false, false, false, 1000, admit, false, 0},
		{"nothing runs: also alone", scene{rows: 1, request: mustRunAlone}, false, false, false, 1, admit, false, 0},
		{"no row, though nothing runs", scene{}, false, false, false, 1, refuse, true, 0},
		{"must run alone", scene{running: 1, rows: 1, request: mustRunAlone}, false, false, false, 1, refuse, true, 99},
		{"another runs alone", scene{running: 1, rows: 1, change: func(s *sequence) { s.req.Alone, s.req.Output = true, make([]int32, 4) }},
			false, false, false, 1, refuse, true, 0},
		{"waits for a prefix, though it does not fit", scene{running: 1, rows: 1, request: func(r *messages.EngineRequest) { r.Prompt = make([]int32, 100) }},
			false, false, true, 1000, wait, false, 0},
		{"does not fit", scene{running: 1, rows: 1}, false, false, false, 11, refuse, true, 0},
	} {
		r, candidate := c.round()
		candidate.ended, r.closed = c.ended, c.closed
		if c.awaited {
			producer := sequenceOf(5, 100, 0, nil)
			producer.state = prefilling
			r.admission.producers = prefixProducers{producer}
		}
		if d := r.decide(candidate, c.need); d.verdict != c.want || r.closed != c.closes || r.admission.drainFor != c.drainFor {
			t.Errorf("%s: verdict %d, closed %t, drained for %d", c.name, d.verdict, r.closed, r.admission.drainFor)
		}
	}
}

// An admitted request takes headroom and a row, ends the head-of-line block and the
// draining for it, and may have what the next ones wait for.
func TestAdmitted(t *testing.T) {
	r, candidate := scene{running: 1, rows: 2}.round()
	r.admission.block, r.admission.drainFor = headOfLineBlock{99, 7}, 99
	r.admitted(candidate.seq, 4)
	if r.left != 6 || r.freeRows != 1 {
		t.Errorf("room %d, %d rows", r.left, r.freeRows)
	}
	if a := r.admission; a.block != (headOfLineBlock{}) || a.drainFor != 0 || len(a.producers) != 1 {
		t.Errorf("block %v, drained for %d, %d producers", a.block, a.drainFor, len(a.producers))
	}
}
