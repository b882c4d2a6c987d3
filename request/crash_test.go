package request

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// transcript plays a fixed scene: three requests in shared steps, one with stop
// strings, one without streaming, one that ends in the middle of a character.
// The panicAt-th call of the detokeniser panics; the message then comes again,
// or its epoch ends. It returns what the clients got, and the calls counted.
func transcript(t *testing.T, panicAt int, lost bool) (string, int) {
	d := &bytesDetok{pieces: []string{"x", "\xc3", "\xa9", "S", "T", "y"}, panicAt: panicAt}
	scripts := [][]int32{{0, 3, 4, 1, 2, 5, 3, 4, 5}, {1, 2, 0, 1, 2, 3, 4, 5}, {0, 0, 5, 3, 4, 1, 2, 1}}
	r := newRig(t, d)
	r.start()
	var clients []*client
	for i, s := range scripts {
		sub := submission()
		sub.Stream = i != 1
		sub.Params.MaxTokens = len(s)
		if i == 0 {
			sub.Stop = []string{"TyS", "STy"}
		}
		c, _ := r.submit(messages.CallID(i+1), "", sub)
		clients = append(clients, c)
	}
	sent := []int{0, 0, 0}
	for !slices.Equal(sent, []int{9, 8, 8}) {
		m := &messages.StepResults{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq + 1}
		for i := range scripts {
			if sent[i] < len(scripts[i]) {
				m.Tokens = append(m.Tokens, messages.TokenResult{ID: messages.RequestID(i + 1), Position: sent[i], Token: scripts[i][sent[i]]})
			}
		}
		before := *r.table
		done := func() (done bool) {
			defer func() {
				if recover() != nil && (r.table.engine.seq != before.engine.seq || r.table.engine.failed) {
					t.Errorf("call %d: the crash changed the table", panicAt)
				}
			}()
			r.step(m)
			return true
		}()
		switch {
		case done:
			r.seq++
			for _, k := range m.Tokens {
				sent[k.ID-1]++
			}
		case lost:
			r.core = NewCore(r.table, CoreOptions{Detokenizer: d})
			r.end(1)
			for _, q := range r.start() {
				if i := int(q.ID - 1); !slices.Equal(q.Output, scripts[i][:sent[i]]) {
					t.Errorf("call %d: resubmitted %v after %v", panicAt, q.Output, scripts[i][:sent[i]])
				}
			}
			// What ended before the crash is not in the new epoch.
			for i := range sent {
				if e := r.table.entries[messages.RequestID(i+1)]; e == nil || e.finish != nil {
					sent[i] = len(scripts[i])
				}
			}
		}
	}
	got := ""
	for _, c := range clients {
		c.read()
		got += fmt.Sprintf("%q %+v %+v\n", c.text[0], *c.finish[0].Finish, c.finish[0].Usage)
		for _, k := range c.tokens[0] {
			got += fmt.Sprint(k, " ")
		}
	}
	return got, d.calls
}

func TestCrashAtEveryCallOfTheDetokenizer(t *testing.T) {
	want, calls := transcript(t, 0, false)
	if calls < 20 {
		t.Fatalf("only %d calls", calls)
	}
	for at := 1; at <= calls; at++ {
		for _, lost := range []bool{false, true} {
			if got, _ := transcript(t, at, lost); got != want {
				t.Errorf("crash at call %d (lost %v): got\n%s\nwant\n%s", at, lost, got, want)
			}
		}
	}
}

// faultySink panics instead of delivering the n-th event.
type faultySink struct {
	Channels
	n int
}

func (s *faultySink) Deliver(ch chan<- messages.CallEvent, ev messages.CallEvent) {
	if s.n--; s.n == 0 {
		panic("injected")
	}
	s.Channels.Deliver(ch, ev)
}

// A fault in the matcher of stop strings changes nothing either: its request is the
// suspect, and nothing of the message is lost for the others.
func TestCrashInTheMatcher(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	sub := submission()
	sub.Stop = []string{"xyz"}
	r.submit(1, "", sub)
	other, _ := r.submit(2, "", submission())
	stops := r.table.entries[1].stops
	nodes := stops.nodes
	stops.nodes = nil
	m := &messages.StepResults{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq + 1,
		Tokens: []messages.TokenResult{{ID: 1}, {ID: 2, Token: eos}}, Ended: []messages.RequestEnded{{ID: 2, Reason: messages.EndEOS, Token: eos}}}
	func() {
		defer func() {
			if recover() == nil || !slices.Equal(r.core.Suspects(m), []messages.RequestID{1}) || r.table.engine.seq != r.seq {
				t.Errorf("suspects are %v, and the results are number %d after %d", r.core.Suspects(m), r.table.engine.seq, r.seq)
			}
		}()
		r.step(m)
	}()
	stops.nodes = nodes
	r.core = NewCore(r.table, CoreOptions{Detokenizer: letters()})
	r.step(m) // again, as the shell does
	if other.read(); other.finish[0] == nil || r.table.entries[1].output == nil {
		t.Errorf("after the repair: %+v and %v", other.finish[0], r.table.entries[1].output)
	}
}

func TestCrashInDelivery(t *testing.T) {
	for n := 1; n <= 4; n++ {
		r := newRig(t, letters())
		r.start()
		one, _ := r.submit(1, "", submission())
		two, _ := r.submit(2, "", submission())
		r.core = NewCore(r.table, CoreOptions{Detokenizer: letters(), Sink: &faultySink{n: n}})
		func() {
			defer func() { _ = recover() }()
			for i, tok := range ids("a.") {
				r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Position: i, Token: tok}, {ID: 2, Position: i, Token: tok}}})
			}
		}()
		r.core = NewCore(r.table, CoreOptions{Detokenizer: letters()})
		r.end()
		r.start()
		for id, c := range map[messages.RequestID]*client{1: one, 2: two} {
			if e := r.table.entries[id]; e != nil && e.finish == nil {
				r.tokens(id, len(e.output), eos)
			}
			if c.read(); c.text[0] != "a" || c.finish[0] == nil || len(c.tokens[0]) != 2 {
				t.Errorf("event %d: request %d got %q, %v", n, id, c.text[0], c.tokens[0])
			}
		}
	}
}

func TestFrozenOutputHasNoRoom(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.submit(1, "", submission())
	r.tokens(1, 0, ids("abc")...)
	r.end()
	if q := r.start()[0]; cap(q.Output) != len(q.Output) {
		t.Fatalf("an append to the frozen output would write into the table: len %d cap %d", len(q.Output), cap(q.Output))
	}
}

// poison is a detokeniser that always fails on one token.
type poison struct{ *bytesDetok }

func (p poison) NewStream(c []int32, special, continues bool) Stream {
	return poisonStream{p.bytesDetok.NewStream(c, special, continues)}
}

type poisonStream struct{ Stream }

func (s poisonStream) Push(id int32) string {
	if id == 25 {
		panic("no text for token 25")
	}
	return s.Stream.Push(id)
}

func TestPoisonTokenEndsOnlyItsRequest(t *testing.T) {
	d := poison{letters()}
	r := newRig(t, d)
	r.start()
	bad, _ := r.submit(1, "", submission())
	mate, _ := r.submit(2, "", submission())
	r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Token: 0}, {ID: 2, Token: 0}}})
	for crash := 1; crash <= 3; crash++ {
		m := &messages.StepResults{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq + 1, Tokens: []messages.TokenResult{{ID: 2, Position: 1, Token: 1}, {ID: 1, Position: 1, Token: 25}}}
		if crash == 3 { // alone
			m.Tokens = m.Tokens[1:]
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("no crash")
				}
			}()
			r.step(m)
		}()
		suspects := r.core.Suspects(m)
		if !slices.Equal(suspects, []messages.RequestID{1}) {
			t.Fatalf("suspects %v", suspects)
		}
		r.core = NewCore(r.table, CoreOptions{Detokenizer: d})
		r.end(suspects...)
		reqs := r.start()
		if isolated := crash == 2; crash < 3 && (reqs[0].ID != 1 || reqs[0].Alone != isolated || isolated != (len(reqs) == 1)) || crash == 3 && reqs[0].Alone {
			t.Fatalf("crash %d: resubmitted %+v", crash, reqs)
		}
	}
	r.tokens(2, 1, ids("b.")...)
	if f := bad.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishError || bad.text[0] != "a" {
		t.Errorf("the bad one got %q %+v", bad.text[0], f)
	}
	if f := mate.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishStop || mate.text[0] != "ab" {
		t.Errorf("the mate got %q %+v", mate.text[0], f)
	}
}
