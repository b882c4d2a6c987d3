package former

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// preempting is a batch former with pages of one token, all of which running requests
// are expected to need: of each the output tokens that it may still get, and its
// priority.
func preempting(lowFirst bool, running ...[2]int) *Core {
	f := New(options(func(o *Options) {
		o.PageSize, o.Pages, o.ContextLength, o.InitNewTokenRatio = 1, 10_000, 20_000, 1
		o.PriorityPreemption, o.LowPriorityFirst = true, lowFirst
	}))
	f.pages.free = 0
	for _, r := range running {
		prompt := max(1, r[0]-maxExpected+1) // no more output is expected of one request
		s := f.addRunning(prompt, 0, 0, func(q *messages.EngineRequest) { q.Params.MaxTokens, q.Priority = r[0], int32(r[1]) })
		s.lease.Pages = nil
		f.pages.free += r[0]
	}
	return f
}

// The numbers are those of SGLang's tests of preemption (item 22): what running
// requests count, and priority and need of the newcomer. SGLang's offset is our pages
// less the headroom.
func TestPreemptible(t *testing.T) {
	three := [][2]int{{50, 0}, {75, 1}, {100, 2}}
	for _, c := range []struct {
		name           string
		lowFirst       bool
		running        [][2]int
		priority, need int
		victims        []messages.RequestID
		offset         int
	}{
		{"the lowest", false, three, 1, 49, []messages.RequestID{1}, 175},
		{"the lowest, low values first", true, three, 1, 49, []messages.RequestID{3}, 125},
		{"equal priority", false, three, 0, 49, nil, 225},
		{"equal priority, low values first", true, three, 2, 49, nil, 225},
		{"not enough together", false, three, 1, 110, nil, 225},
		{"two of them", true, [][2]int{{125, 0}, {125, 1}, {100, 2}, {125, 2}}, 1, 200, []messages.RequestID{4, 3}, 250},
		{"one of two is enough", true, [][2]int{{125, 0}, {100, 2}, {300, 2}, {10, 2}}, 1, 200, []messages.RequestID{3}, 235},
		{"a row is all that lacks", false, three, 3, 0, []messages.RequestID{1}, 175},
	} {
		f := preempting(c.lowFirst, c.running...)
		newcomer := &messages.EngineRequest{Priority: int32(c.priority)}
		got := ids(preemptible(f, newcomer, c.need))
		f.batch.running = slices.DeleteFunc(f.batch.running, func(s *sequence) bool { return slices.Contains(got, s.req.ID) })
		if offset := f.pages.free - headroom(f); !slices.Equal(got, c.victims) || offset != c.offset {
			t.Errorf("%s: %v are preempted and the offset is %d, want %v and %d", c.name, got, offset, c.victims, c.offset)
		}
	}
}

// Preemption counts back what the victims held, not what the newcomer needs
// (item 30, 8000 and 1000 tokens); a difference within the threshold is none.
func TestPreemptionCountsVictims(t *testing.T) {
	f := preempting(false, [2]int{8000, 0})
	f.opt.PreemptionThreshold = 10
	if preemptible(f, &messages.EngineRequest{Priority: 10}, 1000) != nil {
		t.Error("a difference of the threshold is enough")
	}
	list := preemptible(f, &messages.EngineRequest{Priority: 11}, 1000)
	if len(list) != 1 || list[0].frees != 8000 {
		t.Fatalf("%+v", list)
	}
	f.opt.PriorityPreemption = false
	if preemptible(f, &messages.EngineRequest{Priority: 99}, 1000) != nil {
		t.Error("switched off, a request is preempted")
	}
}

func prioritized(rows, pages, inFlight int) *virtual {
	v := newVirtual(Options{PageSize: 4, Pages: pages, MaxRunning: rows, ContextLength: 4 * pages, ChunkedPrefillSize: 64,
		PriorityPreemption: true, PreemptionThreshold: 10, StepsInFlight: inFlight, InitNewTokenRatio: 1}, linear)
	v.queue = queue.New(queue.Options{SchedulePolicy: "priority"})
	return v
}

func (v *virtual) urgent(prompt, output int, priority int32) messages.RequestID {
	return v.enqueue(prompt, output, func(r *messages.EngineRequest) { r.Priority = priority })
}

func (v *virtual) steady(steps int) {
	for range steps {
		v.step()
	}
}

// One row, priorities 0, 10 and 20: 20 preempts 0, and they end as 20, 10, 0;
// 5 does not preempt 0 (item 29). It makes no difference whether a row or
// memory is short.
func TestPreemptionByPriority(t *testing.T) {
	for _, inFlight := range []int{1, 2} {
		for _, rows := range []int{1, 4} {
			pages := 1000
			if rows > 1 {
				pages = 40 // room for one
			}
			v := prioritized(rows, pages, inFlight)
			low := v.urgent(20, 100, 0)
			v.steady(10)
			mid := v.urgent(21, 100, 10)
			v.steady(10)
			if len(v.former.batch.retracted) != 0 || v.queue.Waiting() != 1 {
				t.Fatalf("%d rows: 10 preempts 0", rows)
			}
			high := v.urgent(22, 100, 20)
			for v.step() {
			}
			if want := []messages.RequestID{high, mid, low}; !slices.Equal(v.ended, want) {
				t.Errorf("%d rows, %d in flight: they end as %v, want %v", rows, inFlight, v.ended, want)
			}
			if v.tokens != 300 {
				t.Errorf("%d rows: %d tokens, want 300", rows, v.tokens)
			}
		}
	}
}

// A preempted request comes back before new ones of its priority and after those of a
// higher one. None is preempted for a newcomer that would not fit even then.
func TestPreemptedKeepTheirPlace(t *testing.T) {
	v := prioritized(1, 1000, 1)
	first := v.urgent(20, 50, 0)
	v.steady(5)
	again, middle := v.urgent(21, 5, 0), v.urgent(23, 5, 5)
	high := v.urgent(22, 5, 20)
	for v.step() {
	}
	if want := []messages.RequestID{high, middle, first, again}; !slices.Equal(v.ended, want) {
		t.Errorf("they end as %v, want %v", v.ended, want)
	}

	v = prioritized(4, 40, 1)
	v.urgent(20, 40, 0) // 15 pages
	v.urgent(24, 60, 15)
	v.steady(10)
	huge := v.urgent(60, 60, 20) // 30 pages: more than 0 leaves, and 15 is out of reach
	v.steady(5)
	if n := len(v.former.batch.retracted); n != 0 {
		t.Errorf("%d are preempted in vain", n)
	}
	for v.step() {
	}
	if v.ended[len(v.ended)-1] != huge {
		t.Errorf("they end as %v", v.ended)
	}
}

// A request may fit, at once or by preemption, if all of it were cached, and turn out
// not to fit. That happens once: its prefix is not locked before every step, and it
// does not keep steps from being planned beside each other.
func TestPreemptionIsNotTriedInVain(t *testing.T) {
	for _, pages := range []int{100, 90} {
		v := prioritized(4, pages, 2)
		v.urgent(20, 150, 0)  // 43 pages
		v.urgent(21, 150, 20) // 43 pages
		v.steady(10)
		huge := v.urgent(250, 20, 20) // 68 pages, 62 of them could be cached
		v.steady(5)
		locks, alone := v.locks, 0
		for range 50 {
			if len(v.steps) == 1 {
				alone++ // the device has nothing to go on with
			}
			v.step()
		}
		if v.retractions != 0 || v.locks-locks > 2 || alone > 2 {
			t.Errorf("%d pages: in 50 steps %d retractions, %d prefixes looked up, %d steps with none planned beside them", pages, v.retractions, v.locks-locks, alone)
		}
		for v.step() {
		}
		if len(v.ended) != 3 || v.ended[2] != huge {
			t.Errorf("%d pages: they end as %v", pages, v.ended)
		}
	}
}

// Preempted requests age, too: one that has waited for Aging goes first, and is not
// preempted before it has run for as long. So it does not starve behind an endless
// stream of urgent requests, and these do not wait for longer.
func TestPreemptedRequestsAge(t *testing.T) {
	const aging = time.Second // 200 steps
	for _, inFlight := range []int{1, 2} {
		for _, queued := range []bool{false, true} { // it has waited in the queue before
			v := prioritized(1, 1000, inFlight)
			v.former.opt.Aging = aging
			v.queue = queue.New(queue.Options{SchedulePolicy: "priority", Aging: aging})
			var low messages.RequestID
			if !queued {
				low = v.urgent(20, 500, 0)
				v.steady(10)
			}
			arrived := map[messages.RequestID]time.Duration{}
			stream := func() {
				if v.queue.Waiting() == 0 || queued && low != 0 && v.queue.Waiting() == 1 && v.last[low] == 0 {
					arrived[v.urgent(20, 20, 20)] = v.now
				}
			}
			stream()
			v.steady(5)
			if queued {
				low = v.urgent(20, 500, 0)
			}
			ended := func() bool { return slices.Contains(v.ended, low) }
			for range 3000 {
				if ended() {
					break
				}
				stream()
				v.step()
			}
			if !ended() {
				t.Errorf("%d in flight, queued %t: after %d steps the request is not over, preempted %d times", inFlight, queued, v.done, v.retractions)
			}
			if v.retractions > 5 {
				t.Errorf("%d in flight, queued %t: it was preempted %d times", inFlight, queued, v.retractions)
			}
			for id, at := range arrived {
				if first := v.firstAt[id]; first > 0 && first-at > aging+aging/4 {
					t.Errorf("%d in flight, queued %t: urgent request %d waited %v", inFlight, queued, id, first-at)
				}
			}
		}
	}
}
