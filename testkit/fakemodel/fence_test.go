package fakemodel

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A page that changes hands before the step that uses it is done fails the step
// that writes it, also when the device runs the steps one after the other and
// nothing else could show. A step that is launched afterwards can have it.
func TestAPageIsWrittenBehindTheFenceOnly(t *testing.T) {
	opt := small
	opt.Manual = true
	request := func(id messages.RequestID) *messages.EngineRequest {
		return &messages.EngineRequest{ID: id, Prompt: prompt(3, int(id), opt.Vocab), Params: plain(9)}
	}
	first := func() *messages.RunBatch {
		return &messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 1,
			Opened: []messages.RowOpened{{Row: 0, Request: request(1)}}, Grown: []messages.RowGrown{{Row: 0, Pages: pages(1, 1)}},
			Work: []messages.RowWork{{Row: 0, Count: 3, Sample: 1}}}
	}
	second := func(page int) *messages.RunBatch {
		return &messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 2, Closed: []messages.Row{0},
			Opened: []messages.RowOpened{{Row: 1, Request: request(2)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(page, 1)}},
			Work: []messages.RowWork{{Row: 1, Count: 3, Sample: 1}}}
	}
	for _, c := range []struct {
		name   string
		beside bool
		page   int
		want   string
	}{
		{"the same page beside", true, 1, "writes page 1, which request 1 uses in step 1"},
		{"another page beside", true, 2, ""},
		{"the same page afterwards", false, 1, ""},
	} {
		e := New(opt)
		var failed error
		done := func(_ *messages.BatchDone, err error) {
			if err != nil {
				failed = err
			}
		}
		e.Submit(first(), done)
		if !c.beside {
			e.Complete()
		}
		e.Submit(second(c.page), done)
		for e.Complete() {
		}
		switch {
		case c.want == "" && failed != nil:
			t.Errorf("%s: %v", c.name, failed)
		case c.want != "" && (failed == nil || !strings.Contains(failed.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, failed, c.want)
		}
	}
}

// A step that was launched before the token is known computes that token: two
// steps at once compute the same as one after the other. A step that comes too early
// by one finds no token.
func TestAStepComputesWhatTheOneBeforeDraws(t *testing.T) {
	opt := small
	opt.Manual = true
	params := plain(9)
	e := New(opt)
	var drawn []int32
	var failed error
	done := func(r *messages.BatchDone, err error) {
		if failed = err; err == nil {
			drawn = append(drawn, r.Sampled[0].Token)
		}
	}
	p := prompt(3, 5, opt.Vocab)
	e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 1,
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: p, Params: params}}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}},
		Work:   []messages.RowWork{{Row: 0, Count: 3, Sample: 1}}}, done)
	for step := messages.StepID(2); step <= 4; step++ {
		e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: step, Work: []messages.RowWork{{Row: 0, Start: int(step) + 1, Count: 1, Sample: 1}}}, done)
		if !e.Complete() || failed != nil {
			t.Fatalf("step %d: %v", step-1, failed)
		}
	}
	e.Complete()
	want := Expected(opt, p, params, 4)
	for i := range want {
		if len(drawn) != len(want) || drawn[i] != want[i] {
			t.Fatalf("drew %v, want %v", drawn, want)
		}
	}
	e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 5, Work: []messages.RowWork{{Row: 0, Start: 7, Count: 1, Sample: 1}}}, done)
	e.Complete()
	if failed == nil {
		t.Error("a step computed a token that was not drawn")
	}
}
