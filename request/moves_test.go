package request

import (
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// empty reports whether nothing is under way.
func (m *moves) empty() bool { return *m == moves{} }

// Of what an engine has lost, those requests are counted that get another token.
func TestMovedRequestsAreTold(t *testing.T) {
	out := &messages.Outbox{}
	m := &moves{}
	begun := &entry{output: []int32{1}}
	fresh, ended, over := &entry{}, &entry{output: []int32{1, 2}}, &entry{finish: &messages.Finish{}}
	for _, e := range []*entry{begun, fresh, ended, over, begun} {
		m.move(e)
	}
	m.goOn(begun, 30*time.Millisecond, out)
	m.settle(ended, out)
	if len(out.Notes) > 0 {
		t.Fatalf("told too soon: %+v", out.Notes)
	}
	m.move(begun) // again, before the others have continued
	m.goOn(fresh, 0, out)
	m.goOn(begun, 20*time.Millisecond, out)
	want := messages.Note{Level: messages.NoteInfo, Text: "3 requests have moved to another engine or epoch; the longest pause between two tokens was 30ms", Moved: 3, Pause: 30 * time.Millisecond}
	if len(out.Notes) != 1 || out.Notes[0] != want {
		t.Errorf("%+v", out.Notes)
	}
	m.move(fresh)
	m.goOn(fresh, 0, out)
	if got := out.Notes[1]; got.Text != "1 request has moved to another engine or epoch" || got.Pause != 0 {
		t.Errorf("%+v", got)
	}
	m.move(begun)
	m.move(ended)
	m.settle(begun, out)
	m.settle(ended, out)
	if len(out.Notes) != 2 {
		t.Errorf("requests that ended without another token have moved: %+v", out.Notes[2:])
	}
	if !m.empty() {
		t.Errorf("%+v", m)
	}
}

// The core counts what leaves an engine, and stops when it has continued.
func TestTheTableKnowsWhatHasMoved(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	s := submission()
	s.Params.MaxTokens = 5
	r.submit(1, "", s)
	r.submit(2, "", s)
	r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Token: 3}}})
	r.end()
	if m := r.table.moves; m.open != 2 || m.continued != 0 {
		t.Errorf("after the loss: %+v", m)
	}
	r.start()
	r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Position: 1, Token: 3}}})
	if m := r.table.moves; m.open != 1 || m.continued != 1 {
		t.Errorf("after one has continued: %+v", m)
	}
	r.step(&messages.AbortRequests{All: true})
	if !r.table.moves.empty() {
		t.Errorf("after the end of the other: %+v", r.table.moves)
	}
}
