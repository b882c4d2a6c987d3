package former

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// When the queue is asked, and for how many requests.
func TestAdmissionWants(t *testing.T) {
	preempting := func(o *Options) { o.PriorityPreemption = true }
	alone := func(s *sequence) { s.req.Alone, s.req.Output = true, make([]int32, 4) }
	for _, c := range []struct {
		name string
		scene
		admission
		want  bool
		limit int
	}{
		{"rows are free", scene{running: 1, rows: 3}, admission{queued: true}, true, 3},
		{"no row is free", scene{running: 1}, admission{queued: true}, false, 1},
		{"no row is free, and others may be preempted", scene{running: 1, option: preempting}, admission{queued: true}, true, 1},
		{"others may be preempted, but none waits", scene{running: 1, option: preempting}, admission{}, false, 1},
		{"blocked for memory", scene{running: 1, rows: 3}, admission{queued: true, block: headOfLineBlock{7, 48}}, false, 1},
		{"blocked for less than there is", scene{running: 1, rows: 3}, admission{queued: true, block: headOfLineBlock{7, 47}}, true, 3},
		{"blocked, and others may be preempted", scene{running: 1, rows: 3, option: preempting}, admission{queued: true, block: headOfLineBlock{7, 48}}, true, 1},
		{"blocked, but nothing runs", scene{rows: 3}, admission{queued: true, block: headOfLineBlock{7, 999}}, true, 1},
		{"another runs alone", scene{running: 1, rows: 3, change: alone}, admission{queued: true}, false, 3},
		{"draining", scene{running: 1, rows: 3}, admission{queued: true, drainFor: 7}, false, 3},
		{"drained", scene{rows: 3}, admission{queued: true, drainFor: 7}, true, 3},
		{"requests wait for a prefix", scene{running: 1, rows: 3}, admission{queued: true, waiting: 5}, true, 13},
		{"hundreds wait for a prefix", scene{running: 1, rows: 3}, admission{queued: true, waiting: 500}, true, maxOffered},
	} {
		r, _ := c.round()
		a := c.admission
		if got, limit := a.wants(&r.snapshot), a.offerLimit(&r.snapshot); got != c.want || limit != c.limit {
			t.Errorf("%s: %t, for %d; want %t, for %d; headroom %d", c.name, got, limit, c.want, c.limit, r.headroom())
		}
	}
}

func requests(ids ...messages.RequestID) (list []*messages.EngineRequest) {
	for _, id := range ids {
		list = append(list, &messages.EngineRequest{ID: id})
	}
	return list
}

// What of an offer may be admitted.
func TestEligible(t *testing.T) {
	for _, c := range []struct {
		name      string
		drainFor  messages.RequestID
		retracted int
		preempt   bool
		want      []messages.RequestID
		drains    messages.RequestID
	}{
		{"all", 0, 0, false, []messages.RequestID{4, 5, 6}, 0},
		{"retracted ones go first", 0, 1, false, nil, 0},
		{"by priority they go in between", 0, 1, true, []messages.RequestID{4, 5, 6}, 0},
		{"the one that is drained for", 5, 1, false, []messages.RequestID{5}, 5},
		{"the one that was drained for has ended", 9, 0, false, []messages.RequestID{4, 5, 6}, 0},
		{"the same, and others were retracted", 9, 1, false, nil, 0},
	} {
		o := options(func(o *Options) { o.PriorityPreemption = c.preempt })
		a, v := admission{drainFor: c.drainFor}, snapshot{batch: &batch{opt: &o, retracted: make([]*sequence, c.retracted)}}
		var got []messages.RequestID
		for _, r := range a.eligible(&v, requests(4, 5, 6)) {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, c.want) || a.drainFor != c.drains {
			t.Errorf("%s: %v, draining for %d", c.name, got, a.drainFor)
		}
	}
}

// Retracted sequences and offered requests in order of rank, aged ones first.
func TestNextCandidate(t *testing.T) {
	o := options(func(o *Options) { o.PriorityPreemption = true })
	ranked := func(id messages.RequestID, priority int32, aged bool) *sequence {
		return &sequence{req: &messages.EngineRequest{ID: id, Priority: priority}, state: retracted, aged: aged}
	}
	resuming := []*sequence{ranked(1, 0, true), ranked(2, 5, false), ranked(3, 1, false)}
	offered := requests(4, 5, 6)
	offered[0].Priority, offered[1].Priority, offered[2].Priority = 9, 5, 1
	var got []messages.RequestID
	for s := nextCandidate(&resuming, &offered, &o); s != nil; s = nextCandidate(&resuming, &offered, &o) {
		got = append(got, s.req.ID)
	}
	if want := []messages.RequestID{1, 4, 2, 5, 3, 6}; !slices.Equal(got, want) {
		t.Errorf("in the order %v, want %v", got, want)
	}
}

// Candidates are chosen up to the first that cannot fit, whatever the cache has.
func TestChoose(t *testing.T) {
	// 9 tokens of output are expected of each: 8+9-1 tokens on 4 pages, of which 1
	// can come from the cache.
	small := func(o *Options) { o.InitNewTokenRatio, o.Pages = 0.09, 100 }
	for _, c := range []struct {
		name string
		scene
		reservable int
		want       int
		block      headOfLineBlock
		waiting    int
	}{
		{"as many as there are rows", scene{rows: 3, option: small}, 100, 3, headOfLineBlock{}, 0},
		{"as many as fit", scene{rows: 5, option: small}, 6, 2, headOfLineBlock{}, 0},
		{"none fits", scene{running: 1, rows: 5, option: small}, 4, 0, headOfLineBlock{11, 3}, 0},
		{"none fits, but nothing runs", scene{rows: 5, option: small}, 2, 1, headOfLineBlock{}, 0},
	} {
		r, _ := c.round()
		r.reservable = c.reservable
		var offered []*messages.EngineRequest
		for id := range messages.RequestID(5) {
			offered = append(offered, sequenceOf(11+id, 8, 0, nil).req)
		}
		a := r.admission
		a.choose(&r.snapshot, r.pressure, offered, 0)
		if len(a.candidates) != c.want || a.block != c.block || a.waiting != c.waiting {
			t.Errorf("%s: %d candidates, block %v, %d wait", c.name, len(a.candidates), a.block, a.waiting)
		}
	}
}

// A request that was refused after its prefix was locked is known to need more than
// the least.
func TestBlockedRequestIsNotLockedAgain(t *testing.T) {
	r, c := scene{running: 1, rows: 1}.round()
	a, least := r.admission, r.leastNeed(c.seq)
	if need, ok := a.mayFit(&r.snapshot, r.pressure, c.seq, least); !ok || need != least {
		t.Fatalf("needs %d, fits %t", need, ok)
	}
	a.block = headOfLineBlock{99, least + 1}
	if need, ok := a.mayFit(&r.snapshot, r.pressure, c.seq, least); ok || need != least+1 {
		t.Errorf("blocked, it needs %d and fits: %t", need, ok)
	}
	a.ended(99)
	if _, ok := a.mayFit(&r.snapshot, r.pressure, c.seq, least); !ok {
		t.Error("the block outlives its request")
	}
}
