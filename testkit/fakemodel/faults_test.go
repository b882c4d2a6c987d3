package fakemodel

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

func TestFaults(t *testing.T) {
	opt := small
	opt.Faults = []Fault{{Step: 2, Kind: FailStep}}
	e := New(opt)
	req := &messages.EngineRequest{ID: 1, Prompt: prompt(4, 1, 64), Params: plain(8)}
	d := &driver{t: t, e: e}
	open := func() *messages.RunBatch {
		return &messages.RunBatch{Opened: []messages.RowOpened{{Row: 0, Request: req}}, Grown: []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}},
			Work: []messages.RowWork{{Row: 0, Count: 4, Sample: 1}}}
	}
	d.must(open())
	_, err := d.try(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 4, Count: 1, Sample: 1}}})
	var step *StepError
	if !errors.As(err, &step) || step.Sticky() || len(e.Violations()) != 0 {
		t.Fatalf("got %v, violations %v", err, e.Violations())
	}
	e.Reset(nil)
	e.Inject(Fault{Step: 3, Kind: PanicStep})
	e.Inject(Fault{Step: 5, Every: 2, Kind: StickyStep})
	d.step = 0
	func() {
		defer func() {
			if recover() == nil {
				t.Error("step 3 did not panic")
			}
		}()
		d.must(open())
	}()
	d.step = 0
	d.must(open())
	for range 2 { // steps 5 and 7
		e.Reset(nil)
		d.step = 0
		if _, err := d.try(open()); !errors.As(err, &step) || !step.Sticky() {
			t.Fatalf("got %v", err)
		}
		e.Reset(nil)
		d.step = 0
		d.must(open()) // 6, 8
	}
	e.Reset(nil)
	e.Inject(Fault{Step: 10, Kind: HangStep})
	d.step = 0
	if _, err := d.try(open()); err == nil { // 9
		t.Fatal("step 9 went through")
	}
	e.Reset(nil)
	e.Submit(open(), func(*messages.BatchDone, error) { t.Error("a hung step completed") })
	e.Quiesce(func() { t.Error("a hung device is quiet") })
}

func TestManualAndAsync(t *testing.T) {
	in, p := prompt(5, 1, 64), plain(8)
	want := Expected(small, in, p, 2)
	steps := func() []*messages.RunBatch {
		return []*messages.RunBatch{
			{Header: messages.Header{Epoch: 1}, Step: 1, Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: in, Params: p}}},
				Grown: []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}}, Work: []messages.RowWork{{Row: 0, Count: 5, Sample: 1}}},
			{Header: messages.Header{Epoch: 1}, Step: 2, Work: []messages.RowWork{{Row: 0, Start: 5, Count: 1, Sample: 1}}},
		}
	}
	opt := small
	opt.Manual = true
	e := New(opt)
	var got []int32
	take := func(r *messages.BatchDone, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		got = append(got, r.Sampled[0].Token)
	}
	quiet := 0
	e.Quiesce(func() { quiet++ })
	for _, b := range steps() {
		e.Submit(b, take)
	}
	e.Quiesce(func() { quiet++ })
	if e.Pending() != 2 || len(got) != 0 || quiet != 1 {
		t.Fatalf("pending %d, got %v, quiet %d", e.Pending(), got, quiet)
	}
	for e.Complete() {
	}
	if !slices.Equal(got, want) || quiet != 2 {
		t.Fatalf("got %v, want %v; quiet %d", got, want, quiet)
	}

	opt.Manual, opt.Async, opt.StepTime = false, true, time.Millisecond
	e = New(opt)
	results := make(chan int32, 2)
	for _, b := range steps() {
		e.Submit(b, func(r *messages.BatchDone, err error) {
			if err != nil {
				t.Error(err)
			}
			results <- r.Sampled[0].Token
		})
	}
	done := make(chan struct{})
	e.Quiesce(func() { close(done) })
	<-done
	if a, b := <-results, <-results; !slices.Equal([]int32{a, b}, want) {
		t.Fatalf("got %d, %d, want %v", a, b, want)
	}
}

func TestAThirdStepIsRefused(t *testing.T) {
	opt := small
	opt.Manual = true
	e := New(opt)
	ends := 0
	for step := range messages.StepID(3) {
		e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: step + 1}, func(_ *messages.BatchDone, err error) {
			if ends++; err == nil {
				t.Error("a step was computed")
			}
		})
	}
	if v := e.Violations(); ends != 1 || len(v) != 1 || !strings.Contains(v[0], "step 3 comes while 2 are in flight") {
		t.Errorf("%d ends, violations %v", ends, v)
	}
}
