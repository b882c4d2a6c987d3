package fakemodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestIllegalSteps(t *testing.T) {
	req := func(n int) *messages.EngineRequest {
		return &messages.EngineRequest{ID: 9, Prompt: prompt(n, 2, small.Vocab), Params: plain(9)}
	}
	work := func(r messages.Row, start, count int, sample bool) []messages.RowWork {
		w := messages.RowWork{Row: r, Start: start, Count: count}
		if sample {
			w.Sample = 1
		}
		return []messages.RowWork{w}
	}
	// Row 0 is open with 6 tokens, KV for 6 and pages 1, 2; one token sampled.
	for want, b := range map[string]*messages.RunBatch{
		"no work":                     {},
		"row 1 is given work but not": {Work: work(1, 0, 1, false)},
		"row 9 is given work, want":   {Work: work(9, 0, 1, false)},
		"row 0 has work twice":        {Work: slices.Concat(work(0, 6, 1, true), work(0, 6, 1, true))},
		"row 0 computes 0 tokens":     {Work: work(0, 6, 0, true)},
		"has KV for [0, 6)":           {Work: work(0, 5, 2, true)},
		"of 7 known tokens":           {Work: work(0, 6, 2, true)},
		"its 1 pages hold 4": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(5, 1)}},
			Work: work(1, 0, 5, false)},
		"row 1 samples after position 2": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(5, 2)}},
			Work: work(1, 0, 3, true)},
		"writes page 2, which is in 2": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(2, 2)}},
			Work: work(1, 0, 3, false)},
		"row 0 is opened for request 9 but request 1 holds it": {Opened: []messages.RowOpened{{Row: 0, Request: req(6)}}},
		"row 7 is opened, want 0 to 3":                         {Opened: []messages.RowOpened{{Row: 7, Request: req(6)}}},
		"leaves nothing to compute":                            {Opened: []messages.RowOpened{{Row: 1, Request: req(8), Pages: pages(1, 2)}}},
		"gets page 0":                                          {Grown: []messages.RowGrown{{Row: 0, Pages: pages(0, 1)}}},
		"gets page 33":                                         {Grown: []messages.RowGrown{{Row: 0, Pages: pages(33, 1)}}},
		"row 2 is closed but not open":                         {Closed: []messages.Row{2}},
		"row 3 is grown but not open":                          {Grown: []messages.RowGrown{{Row: 3, Pages: pages(9, 1)}}},
		"pages [1, 3) are replaced, it has 2":                  {Replaced: []messages.RowReplaced{{Row: 0, First: 1, Pages: pages(9, 2)}}},
		"does not go on from": {Opened: []messages.RowOpened{{Row: 1, Output: []int32{1},
			Request: &messages.EngineRequest{ID: 9, Prompt: []int32{1}, Output: []int32{2}, Params: plain(9)}}}},
		"outside the vocabulary": {Opened: []messages.RowOpened{{Row: 1, Request: &messages.EngineRequest{ID: 9, Prompt: []int32{64}, Params: plain(9)}}}},
		"has no prompt":          {Opened: []messages.RowOpened{{Row: 1, Request: &messages.EngineRequest{ID: 9, Params: plain(9)}}}},
	} {
		d := &driver{t: t, e: New(small)}
		d.must(&messages.RunBatch{
			Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: prompt(6, 2, 64), Params: plain(9)}}},
			Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}},
			Work:   work(0, 0, 6, true),
		})
		_, err := d.try(b)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if v := d.e.Violations(); len(v) != 1 {
			t.Errorf("violations %v", v)
		}
		if _, err := d.try(&messages.RunBatch{Work: work(0, 6, 1, true)}); err == nil {
			t.Errorf("%q: the next step went through without Reset", want)
		}
	}
}

func TestStepAndEpochOrder(t *testing.T) {
	e := New(small)
	submit := func(epoch messages.Epoch, step messages.StepID) (err error) {
		e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: epoch}, Step: step,
			Opened: []messages.RowOpened{{Row: messages.Row(step - 1), Request: &messages.EngineRequest{Prompt: []int32{1}, Params: plain(1)}}},
			Grown:  []messages.RowGrown{{Row: messages.Row(step - 1), Pages: pages(int(step), 1)}},
			Work:   []messages.RowWork{{Row: messages.Row(step - 1), Count: 1, Sample: 1}},
		}, func(_ *messages.BatchDone, err2 error) { err = err2 })
		return err
	}
	if err := submit(1, 1); err != nil {
		t.Fatal(err)
	}
	if err := submit(1, 3); err == nil {
		t.Error("step 3 after 1 went through")
	}
	e.Reset(nil)
	if err := submit(2, 1); err != nil {
		t.Fatal(err)
	}
	if err := submit(3, 2); err == nil {
		t.Error("epoch 3 went through without Reset")
	}
}
