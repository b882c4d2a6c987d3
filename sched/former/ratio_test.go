package former

import (
	"math"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func options(change func(*Options)) Options {
	o := Options{PageSize: 4, Pages: 64, MaxRunning: 8, ContextLength: 128}
	if change != nil {
		change(&o)
	}
	return o.withDefaults()
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The numbers are those of SGLang's unit test of its ratio.
func TestNewTokenRatio(t *testing.T) {
	for _, c := range []struct{ conservativeness, init, min, decay float64 }{
		{1, 0.7, 0.098, 0.602 / 600},
		{0.5, 0.35, 0.049, 0.301 / 600},
		{2, 1, 0.14, 0.86 / 600},
	} {
		opt := options(func(o *Options) { o.Conservativeness = c.conservativeness })
		r := newRatio(&opt)
		if !near(r.now, c.init) || !near(r.min, c.min) || !near(r.decay, c.decay) {
			t.Errorf("conservativeness %v: %+v, want init %v, min %v, decay %v", c.conservativeness, r, c.init, c.min, c.decay)
		}
	}
	r := newTokenRatio{init: 0.7, min: 0.1, decay: 0.2, now: 0.7, course: 0.7, last: 0.7}
	for i, want := range []float64{0.7, 0.5, 0.3, 0.1, 0.1} {
		if !near(r.now, want) {
			t.Errorf("after %d steps the ratio is %v, want %v", i, r.now, want)
		}
		r.step()
	}
	r.reset()
	if !near(r.now, 0.7) {
		t.Errorf("after idleness the ratio is %v, want 0.7", r.now)
	}
	for _, c := range []struct {
		requests, produced, limit int
		want                      float64
	}{
		{2, 5 + 3, 100 + 50, 48. / 151},
		{0, 0, 0, 0},
		{1, 200, 10, 1},
		{2, 0, 2000, 40. / 2001},
	} {
		if r.retracted(c.requests, c.produced, c.limit); !near(r.now, c.want) {
			t.Errorf("after a retraction that leaves %+v the ratio is %v", c, r.now)
		}
	}
}

// What a retraction measured is forgotten within a hundred steps, and the course
// goes on meanwhile.
func TestRatioCalmsDown(t *testing.T) {
	opt := options(nil)
	pressed, calm := newRatio(&opt), newRatio(&opt)
	for range 200 {
		pressed.step()
		calm.step()
	}
	pressed.retracted(10, 900, 1000)
	if !near(pressed.now, 1) {
		t.Fatalf("the ratio is %v", pressed.now)
	}
	for range 100 {
		pressed.step()
		calm.step()
	}
	if d := pressed.now - calm.now; d < 0 || d > 0.005 {
		t.Errorf("100 steps after a retraction the ratio is %v, without it %v", pressed.now, calm.now)
	}
}

// Requests that use much of their greatest output keep the ratio up; it is never
// below SGLang's least, and a few of them do not count.
func TestRatioFollowsShares(t *testing.T) {
	opt := options(nil)
	for _, c := range []struct {
		ended, output int
		want          float64
	}{{0, 0, 0.098}, {15, 100, 0.098}, {16, 100, 0.5}, {100, 40, 0.2}, {100, 1, 0.098}, {100, 500, 0.5}} {
		r := newRatio(&opt)
		for range c.ended {
			r.ended(c.output, 100)
		}
		for range 700 {
			r.step()
		}
		if !near(r.now, c.want) {
			t.Errorf("after %d outputs of %d of 100 tokens the ratio is %v, want %v", c.ended, c.output, r.now, c.want)
		}
	}
	r := newRatio(&opt)
	for range 50 {
		r.ended(100, 100)
	}
	for range 100 {
		r.ended(10, 100)
	}
	if r.share > 0.15 {
		t.Errorf("100 requests later the share is still %v", r.share)
	}
}

// A retraction recovers: the ratio decays again while nothing is retracted, and
// idleness resets it.
func TestRatioFollowsTheFormer(t *testing.T) {
	opt := options(nil)
	s := newScript(t, []string{"page=2", "pages=6", "rows=3", "ratio=1"})
	s.former.pressure.ratio = newRatio(&opt)
	play := func(line ...string) {
		t.Helper()
		s.play(line)
	}
	play("enqueue", "1", "prompt=10*2", "max=9")
	play("done", "1")
	want := 0.7 - 0.602/600
	if !near(s.former.pressure.ratio.now, want) {
		t.Errorf("after a step the ratio is %v, want %v", s.former.pressure.ratio.now, want)
	}
	s.former.pressure.ratio.now = 0.01
	play("enqueue", "2", "prompt=20*3", "max=8")
	for range 4 {
		play("done", "1")
	}
	if len(s.former.batch.retracted) != 1 || !near(s.former.pressure.ratio.now, (5.+20)/(9+1)) && s.former.pressure.ratio.now != 1 {
		t.Errorf("after a retraction %d wait and the ratio is %v", len(s.former.batch.retracted), s.former.pressure.ratio.now)
	}
	at := s.former.pressure.ratio.now
	play("done", "1")
	if s.former.pressure.ratio.now != at {
		t.Errorf("the step with a retraction changed the ratio from %v to %v", at, s.former.pressure.ratio.now)
	}
	for s.former.Load() != (Load{Resting: true}) {
		play("done", "1")
	}
	if !near(s.former.pressure.ratio.now, 0.7) {
		t.Errorf("idle, the ratio is %v, want 0.7", s.former.pressure.ratio.now)
	}
}

// Requests without max_tokens have a huge limit. After a retraction, which shows that
// too little was expected, they are still expected to produce what they have produced
// and what the next steps will.
func TestRetractionExpectsWhatWasProduced(t *testing.T) {
	for _, most := range []int{500, 4096, 100_000} {
		f := New(options(func(o *Options) { o.PageSize, o.Pages, o.MaxRunning, o.ContextLength = 1, 1<<20, 8, 1<<17 }))
		for range 4 {
			s := f.addRunning(10, 300, 0, func(r *messages.EngineRequest) { r.Params.MaxTokens = most })
			row, _ := f.pages.rows.Take()
			s.lease.Row, s.lease.state, f.batch.byID[s.req.ID], f.batch.byRow[row] = row, leaseOpen, s, s
		}
		for range 10_000 {
			f.pressure.ratio.step()
		}
		was := f.pressure.ratio.now
		f.retract([]victim{{s: f.batch.running[0]}}, &messages.Outbox{})
		f.pressure.measure(f.batch.running)
		fresh := sequenceOf(9, 10, 0, func(r *messages.EngineRequest) { r.Params.MaxTokens = most })
		if got, want := fresh.expected(f.pressure.ratio.now, f.opt.ContextLength), 300+lookaheadSteps; got < want-1 || got > want+1 {
			t.Errorf("of %d tokens at most: %d are expected, want %d; the ratio was %v and is %v", most, got, want, was, f.pressure.ratio.now)
		}
	}
}
