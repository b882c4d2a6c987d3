package request

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestResubmission(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	var clients []*client
	for call := range messages.CallID(4) {
		c, _ := r.submit(call+1, "", submission("zz"))
		clients = append(clients, c)
	}
	r.tokens(2, 0, ids("ab")...)
	r.tokens(3, 0, ids("c.")...)           // its end is fixed
	r.step(&messages.DropCall{Call: 4})    // its client has disconnected
	if sends := r.end(); len(sends) != 0 { // between epochs nothing is sent
		t.Fatalf("sent %v", sends)
	}
	late, sends := r.submit(9, "", submission())
	if len(sends) != 0 || late.accepted == nil {
		t.Fatalf("between epochs: sent %v, accepted %v", sends, late.accepted)
	}
	reqs := r.start()
	var got []messages.RequestID
	for _, q := range reqs {
		got = append(got, q.ID)
	}
	if !slices.Equal(got, []messages.RequestID{1, 2, 5}) || !slices.Equal(reqs[1].Output, ids("ab")) || !slices.Equal(reqs[1].Prompt, ids("hello")) {
		t.Fatalf("resubmitted %v", reqs)
	}
	r.tokens(2, 2, ids("c.")...)
	if !slices.Equal(reqs[1].Output, ids("ab")) {
		t.Fatal("a frozen request was changed")
	}
	if c := clients[1].read(); c.text[0] != "abc" || c.finish[0].Usage.CompletionTokens != 4 {
		t.Fatalf("got %q", c.text[0])
	}
	if r.table.Open() != 3 { // 1, 2 (not released) and 5
		t.Fatalf("%d open", r.table.Open())
	}
}

func TestEpochStartedWithoutEnd(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.submit(1, "", submission())
	if reqs := r.start(); len(reqs) != 1 {
		t.Fatalf("resubmitted %v", reqs)
	}
}

func TestQuarantine(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	bad, _ := r.submit(1, "", submission())
	mate, _ := r.submit(2, "", submission())
	alone := func() (list []messages.RequestID) {
		for _, q := range r.start() {
			if q.Alone {
				list = append(list, q.ID)
			}
		}
		return list
	}
	r.end(1, 2)
	if got := alone(); len(got) != 0 {
		t.Fatalf("alone after one crash: %v", got)
	}
	r.tokens(2, 0, ids("a")...) // progress clears the mate
	r.end(1, 2, 1)
	if got := alone(); !slices.Equal(got, []messages.RequestID{1}) {
		t.Fatalf("alone after two crashes: %v", got)
	}
	if _, sends := r.submit(3, "", submission()); len(enqueued(sends)) != 0 {
		t.Fatal("submitted beside an isolated request")
	}
	r.end() // a crash that it had no part in
	if got := alone(); !slices.Equal(got, []messages.RequestID{1}) {
		t.Fatalf("alone: %v", got)
	}
	r.end(1)
	f := bad.read().finish[0]
	if f == nil || f.Finish.Reason != messages.FinishError || !strings.Contains(f.Finish.Message, "failed 3 times in a row") || r.reading(messages.RequestsFailed) != 1 {
		t.Fatalf("got %+v", f)
	}
	if reqs := r.start(); len(reqs) != 2 || reqs[0].ID != 2 || reqs[1].ID != 3 {
		t.Fatalf("resubmitted %v", reqs)
	}
	r.tokens(2, 1, ids("bc.")...)
	if mate.read(); mate.text[0] != "abc" || mate.finish[0].Finish.Reason != messages.FinishStop {
		t.Fatalf("the mate got %q", mate.text[0])
	}
}

// A cause may continue with a stack, which is for the log and not for clients.
func TestAnErrorTellsOneLineOfTheCause(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission())
	for range 3 {
		r.step(&messages.EpochEnded{Header: messages.Header{Epoch: r.epoch}, Cause: "step 7 failed: panic: index out of range\ngoroutine 9 [running]:\n\t/home/me/team.go:169", Suspects: []messages.RequestID{1}})
		r.start()
	}
	f := c.read().finish[0]
	if f == nil || !strings.Contains(f.Finish.Message, "(step 7 failed: panic: index out of range)") || strings.Contains(f.Finish.Message, "goroutine") {
		t.Fatalf("got %+v", f)
	}
}

// Three requests that crash together are told apart one by one: only the one
// that crashes by itself ends.
func TestQuarantineTellsSuspectsApart(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	var clients []*client
	for call := messages.CallID(1); call <= 3; call++ {
		c, _ := r.submit(call, "", submission())
		clients = append(clients, c)
	}
	isolated := func(want messages.RequestID) {
		t.Helper()
		if reqs := r.start(); len(reqs) != 1 || reqs[0].ID != want || !reqs[0].Alone {
			t.Fatalf("resubmitted %v, want %d alone", reqs, want)
		}
	}
	r.end(1, 2, 3)
	r.start()
	r.end(1, 2, 3)
	isolated(1)
	// Progress of the first one makes place for the second.
	if reqs := enqueued(r.tokens(1, 0, ids("a")...)); len(reqs) != 1 || reqs[0].ID != 2 || !reqs[0].Alone {
		t.Fatalf("after progress: %v", reqs)
	}
	r.end(2)
	if f := clients[1].read().finish[0]; f == nil || f.Finish.Reason != messages.FinishError {
		t.Fatalf("the poison got %+v", f)
	}
	isolated(3)
	// Its end lets the others in.
	if reqs := enqueued(r.tokens(3, 0, ids(".")...)); len(reqs) != 1 || reqs[0].ID != 1 || reqs[0].Alone {
		t.Fatalf("after the end: %v", reqs)
	}
	r.released(3, messages.EndEOS)
	r.tokens(1, 1, ids("b.")...)
	for i, want := range map[int]string{0: "ab", 2: ""} {
		if f := clients[i].read().finish[0]; f == nil || f.Finish.Reason != messages.FinishStop || clients[i].text[0] != want {
			t.Errorf("request %d got %q %+v", i+1, clients[i].text[0], f)
		}
	}
}

// Of several engines, the one that a quarantined request goes to may have had requests
// before. If these are suspected with it, it goes on.
func TestQuarantineBesideOthers(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission())
	r.submit(2, "", submission())
	lose := func(ids ...messages.RequestID) []*messages.EngineRequest {
		r.seq++
		return enqueued(r.step(&messages.EpochEnded{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq, Cause: "the cache panicked", Suspects: ids, Requests: ids}))
	}
	lose(1)
	if again := lose(1); len(again) != 1 || !again[0].Alone {
		t.Fatalf("resubmitted %v, want request 1 alone", again)
	}
	// It goes to the engine that has request 2.
	if again := lose(1, 2); len(again) != 1 || again[0].ID != 1 || !again[0].Alone {
		t.Fatalf("resubmitted %v, want request 1 alone once more", again)
	}
	if f := c.read().finish[0]; f != nil {
		t.Fatalf("request 1 ended although request 2 was suspected as well: %s", f.Finish.Message)
	}
	lose(1)
	if f := c.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishError {
		t.Errorf("request 1 got %+v, although it was the only suspect", f)
	}
}

func TestAbortAndDrop(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	a, _ := r.submit(1, "a", submission("cd"))
	b, _ := r.submit(2, "b", submission())
	r.tokens(1, 0, ids("abc")...)
	if got := finished(r.step(&messages.AbortRequests{UserID: "nobody"})); len(got) != 0 {
		t.Fatalf("finished %v", got)
	}
	if got := finished(r.step(&messages.AbortRequests{UserID: "a"})); !slices.Equal(got, []messages.RequestID{1}) {
		t.Fatalf("finished %v", got)
	}
	if f := a.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishAbort || a.text[0] != "abc" || len(a.tokens[0]) != 3 || f.Usage.CompletionTokens != 3 || r.reading(messages.RequestsAborted) != 1 {
		t.Fatalf("got %q %+v", a.text[0], f)
	}
	if got := finished(r.tokens(1, 3, 1)); len(got) != 0 {
		t.Fatalf("finished twice %v", got)
	}
	if got := finished(r.step(&messages.DropCall{Call: 2})); !slices.Equal(got, []messages.RequestID{2}) {
		t.Fatalf("finished %v", got)
	}
	r.tokens(2, 0, 1)
	if b.read(); len(b.outputs) != 0 {
		t.Fatal("a client that has disconnected got output")
	}
	if r.released(2, messages.EndCancelled); r.table.Open() != 1 {
		t.Fatalf("%d open", r.table.Open())
	}
	c, _ := r.submit(3, "", submission())
	d, _ := r.submit(4, "", submission())
	if got := finished(r.step(&messages.AbortRequests{All: true})); !slices.Equal(got, []messages.RequestID{3, 4}) {
		t.Fatalf("finished %v", got)
	}
	if c.read().finish[0] == nil || d.read().finish[0] == nil {
		t.Fatal("not all were answered")
	}
	r.end()
	if r.table.Open() != 0 {
		t.Fatalf("%d open after the epoch", r.table.Open())
	}
}

// A name belongs to its owner: others may use it too, and their aborts do not
// reach it. The administrator's reach all calls of the name.
func TestOwnersShareNoNames(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	begin := func(call messages.CallID, owner, name string) *messages.CallRefused {
		events := make(chan messages.CallEvent, 4)
		r.step(&messages.SubmitRequests{Call: call, UserID: name, Owner: owner, Requests: []messages.Submission{submission()}, Events: events})
		refused, _ := (<-events).(*messages.CallRefused)
		return refused
	}
	for i, c := range [][2]string{{"ann", "x"}, {"bob", "x"}, {"", "x"}, {"ann", "y"}, {"ann", ""}} {
		if why := begin(messages.CallID(i+1), c[0], c[1]); why != nil {
			t.Fatalf("call %d is refused: %+v", i+1, why)
		}
	}
	if why := begin(6, "ann", "x"); why == nil || why.Kind != messages.RefusedDuplicate {
		t.Fatalf("the same name twice: %+v", why)
	}
	for _, step := range []struct {
		abort messages.AbortRequests
		want  []messages.RequestID
	}{
		{messages.AbortRequests{UserID: "x", Owner: "eve"}, nil},
		{messages.AbortRequests{UserID: "y", Owner: "bob"}, nil},
		{messages.AbortRequests{UserID: "", Owner: "ann"}, nil},
		{messages.AbortRequests{UserID: "", AnyOwner: true}, nil},
		{messages.AbortRequests{UserID: "x", Owner: "bob"}, []messages.RequestID{2}},
		{messages.AbortRequests{UserID: "x", AnyOwner: true}, []messages.RequestID{1, 3}},
		{messages.AbortRequests{UserID: "y", Owner: "ann"}, []messages.RequestID{4}},
	} {
		if got := finished(r.step(&step.abort)); !slices.Equal(got, step.want) {
			t.Errorf("%+v ends %v, want %v", step.abort, got, step.want)
		}
	}
	if got := finished(r.step(&messages.AbortRequests{All: true})); !slices.Equal(got, []messages.RequestID{5}) {
		t.Errorf("all that is left is %v, want the call without a name", got)
	}
}

// A client that is cut off by a shutdown sees that, and not an abort.
func TestAbortForAShutdown(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	a, _ := r.submit(1, "", submission())
	b, _ := r.submit(2, "", submission())
	r.tokens(1, 0, ids("abc")...)
	r.step(&messages.AbortRequests{All: true, ShuttingDown: true})
	if n := r.reading(messages.RequestsAborted); n != 2 {
		t.Errorf("%v count as aborted", n)
	}
	for _, c := range []*client{a, b} {
		if f := c.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishError || f.Finish.Kind != messages.RefusedDraining || f.Finish.RetryAfterSeconds < 1 {
			t.Errorf("ended with %+v", f)
		}
	}
	r.end()
	if r.table.Open() != 0 {
		t.Fatalf("%d open after the epoch", r.table.Open())
	}
}

func TestTickets(t *testing.T) {
	r := newRig(t, letters())
	flush := func() (chan string, []messages.Send) {
		ch := make(chan string, 1)
		return ch, r.step(&messages.AskCacheFlush{Reply: ch})
	}
	audit := func() (chan *messages.SlotsAudited, []messages.Send) {
		ch := make(chan *messages.SlotsAudited, 1)
		return ch, r.step(&messages.AskAudit{Reply: ch})
	}
	f, _ := flush()
	a, _ := audit()
	if !strings.Contains(<-f, "restarting") || <-a != nil {
		t.Fatal("answered without an epoch")
	}
	r.start()
	f, sends := flush()
	ask := sends[0].Msg.(*messages.FlushCache)
	if sends[0].To != messages.Former || ask.Epoch != 1 {
		t.Fatalf("sent %v", sends)
	}
	r.step(&messages.CacheFlushed{Header: messages.Header{Epoch: 1}, Ticket: ask.Ticket, Pages: 3})
	if got := <-f; got != "" {
		t.Fatalf("flush: %q", got)
	}
	f, sends = flush()
	r.step(&messages.FlushRefused{Header: messages.Header{Epoch: 1}, Ticket: sends[0].Msg.(*messages.FlushCache).Ticket, Running: 2})
	if got := <-f; !strings.Contains(got, "2 requests are running") {
		t.Fatalf("flush: %q", got)
	}
	a, sends = audit()
	r.step(&messages.SlotsAudited{Header: messages.Header{Epoch: 1}, Ticket: sends[0].Msg.(*messages.AuditSlots).Ticket, OK: true, Count: messages.PageCount{Free: 9, Total: 9}})
	if got := <-a; got == nil || !got.OK {
		t.Fatalf("audit: %v", got)
	}
	// None of several engines is up: the questions are refused.
	a, sends = audit()
	r.step(&messages.SlotsAudited{Header: messages.Header{Epoch: 1}, Ticket: sends[0].Msg.(*messages.AuditSlots).Ticket, OK: true})
	if got := <-a; got != nil {
		t.Fatalf("an audit of nothing: %v", got)
	}
	f, sends = flush()
	r.step(&messages.FlushRefused{Header: messages.Header{Epoch: 1}, Ticket: sends[0].Msg.(*messages.FlushCache).Ticket})
	if got := <-f; got != restarting {
		t.Fatalf("a flush of nothing: %q", got)
	}
	f, _ = flush()
	a, _ = audit()
	for range maxTickets - 2 {
		audit()
	}
	if over, sends := flush(); len(sends) != 0 || !strings.Contains(<-over, "too many") {
		t.Fatal("tickets have no bound")
	}
	r.end()
	if !strings.Contains(<-f, "restarted") || <-a != nil || len(r.table.tickets) != 0 {
		t.Fatal("questions of an ended epoch are open")
	}
}

// Dispatch gives a quarantined request an engine to itself, so intake holds nobody back. It
// submits each quarantined one by itself. A crash as the only suspect ends it.
func TestDispatchIsolates(t *testing.T) {
	r := newRig(t, letters())
	r.epoch++
	r.step(&messages.EpochStarted{Header: messages.Header{Epoch: r.epoch}, Isolates: true})
	bad, _ := r.submit(1, "", submission())
	mate, _ := r.submit(2, "", submission())
	lose := func(suspects, lost []messages.RequestID) []messages.Send {
		r.seq++
		return r.step(&messages.EpochEnded{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq, Cause: "the process died", Suspects: suspects, Requests: lost})
	}
	both := []messages.RequestID{1, 2}
	lose(both, both)
	sends := lose(both, both)
	if len(sends) != 2 {
		t.Fatalf("submitted in %d messages, want one for each quarantined request", len(sends))
	}
	for _, q := range enqueued(sends) {
		if !q.Alone {
			t.Errorf("request %d is not to run alone", q.ID)
		}
	}
	if _, sends := r.submit(3, "", submission()); len(enqueued(sends)) != 1 || enqueued(sends)[0].Alone {
		t.Fatal("a new request is held back")
	}
	if again := enqueued(lose(both, both)); len(again) != 2 || bad.read().finish[0] != nil {
		t.Fatalf("with two suspects, %v are submitted again", again)
	}
	if again := enqueued(r.tokens(2, 0, ids("a")...)); len(again) != 0 {
		t.Fatalf("submitted %v", again)
	}
	if again := enqueued(lose([]messages.RequestID{2}, []messages.RequestID{2})); len(again) != 1 || again[0].Alone {
		t.Fatalf("after its token, request 2 is submitted as %v", again)
	}
	lose([]messages.RequestID{1}, []messages.RequestID{1})
	if f := bad.read().finish[0]; f == nil || f.Finish.Reason != messages.FinishError || f.Finish.Kind != 0 || !strings.Contains(f.Finish.Message, "failed 4 times in a row") {
		t.Fatalf("the poison got %+v", f)
	}
	r.tokens(2, 1, ids("b.")...)
	if mate.read(); mate.text[0] != "ab" || mate.finish[0].Finish.Reason != messages.FinishStop {
		t.Errorf("its mate got %q", mate.text[0])
	}
}

// A request that no engine could take for too long ends with an error for now, and keeps
// what was there.
func TestNoEngineForTooLong(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission("bcx"))
	r.tokens(1, 0, ids("abc")...)
	r.results(messages.StepResults{Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndUnavailable, Why: "no engine"}}})
	f := c.read().finish[0]
	if f == nil || f.Finish.Reason != messages.FinishError || f.Finish.Kind != messages.RefusedUnavailable || f.Finish.Message != "no engine" || f.Finish.RetryAfterSeconds < 1 || c.text[0] != "abc" {
		t.Fatalf("text %q, finish %+v", c.text[0], f)
	}
	if r.table.Open() != 0 || r.reading(messages.RequestsFailed) != 1 {
		t.Errorf("%d requests are open, %v failed", r.table.Open(), r.reading(messages.RequestsFailed))
	}
}

// If it is not sure that the engine had begun with a quarantined request, it ends one
// failure later.
func TestUnsureSuspects(t *testing.T) {
	r := newRig(t, letters())
	r.epoch++
	r.step(&messages.EpochStarted{Header: messages.Header{Epoch: r.epoch}, Isolates: true})
	c, _ := r.submit(1, "", submission())
	for crash := 1; crash <= 4; crash++ {
		if f := c.read().finish[0]; f != nil {
			t.Fatalf("ended after %d crashes: %s", crash-1, f.Finish.Message)
		}
		r.seq++
		r.step(&messages.EpochEnded{Header: messages.Header{Epoch: r.epoch}, Seq: r.seq, Unsure: true, Suspects: []messages.RequestID{1}, Requests: []messages.RequestID{1}})
	}
	if f := c.read().finish[0]; f == nil || !strings.Contains(f.Finish.Message, "failed 4 times in a row") {
		t.Errorf("after 4 crashes: %+v", f)
	}
}
