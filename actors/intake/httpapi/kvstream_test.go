package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A long replay is sent in parts, so that many readers at once do not each hold all
// of it as text.
func TestReplayOfKVEventsGoesOutInParts(t *testing.T) {
	const events = 10_000
	replay := make([]messages.ObservedEvent, events)
	for i := range replay {
		replay[i] = messages.ObservedEvent{Seq: uint64(i + 1), Kind: messages.PagesStored, Hashes: make([]uint64, 16)}
	}
	w := httptest.NewRecorder()
	k := kvStream{sse: newSSE(w)}
	if err := k.begin(&messages.EventsSubscribed{Last: events, Replay: replay}); err != nil {
		t.Fatal(err)
	}
	if k.buf.Cap() > 4*flushBytes {
		t.Errorf("%d bytes were gathered, a write takes %d", k.buf.Cap(), flushBytes)
	}
	if err := k.flush(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.Body.String(), "event: stored\n"); n != events || k.last != events {
		t.Errorf("%d events were written up to %d, want %d", n, k.last, events)
	}
}
