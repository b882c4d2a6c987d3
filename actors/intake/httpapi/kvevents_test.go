package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// eventReader is a client of /v1/kv_events.
type eventReader struct {
	t      testing.TB
	lines  *bufio.Scanner
	cancel func()
	cached map[string]bool
	last   uint64
}

// kvEvent is one of them.
type kvEvent struct {
	name   string
	Seq    uint64
	Epoch  uint32
	Hashes []string
	Parent *string
	Stream string
	Last   uint64
	After  uint64
	Reason string
}

func openEvents(t testing.TB, s *testserver.Server, query string) *eventReader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/kv_events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := testserver.Client(t).Do(r)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", a, err)
	}
	t.Cleanup(func() { a.Body.Close() })
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 16<<20)
	return &eventReader{t: t, lines: lines, cancel: cancel, cached: map[string]bool{}}
}

// next reads one event; false at the end of the stream.
func (e *eventReader) next() (v kvEvent, ok bool) {
	e.t.Helper()
	for e.lines.Scan() {
		switch line := e.lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			v.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[len("data: "):]), &v); err != nil {
				e.t.Fatalf("%v: %s", err, line)
			}
		case line == "" && v.name != "":
			e.apply(&v)
			return v, true
		}
	}
	return v, false
}

func (e *eventReader) apply(v *kvEvent) {
	if v.Seq > 0 {
		e.last = v.Seq
	}
	switch v.name {
	case "cleared", "gap":
		clear(e.cached)
	case "stored":
		for _, h := range v.Hashes {
			e.cached[h] = true
		}
	case "removed":
		for _, h := range v.Hashes {
			delete(e.cached, h)
		}
	}
}

// hashesOf are the names of a prompt's whole pages, as docs/api.md says.
func hashesOf(prompt []int32, pageSize int) map[string]bool {
	all, hash := map[string]bool{}, radix.RootHash("")
	for at := 0; at+pageSize <= len(prompt); at += pageSize {
		hash = radix.PageHash(hash, prompt[at:at+pageSize])
		all[fmt.Sprintf("%016x", hash)] = true
	}
	return all
}

func withEvents(keep int) func(*engine.Spec) {
	return func(spec *engine.Spec) {
		spec.Cache.Events = true
		spec.Observer = &observer.Options{Keep: keep, Stream: 7}
	}
}

func TestKVEventsTellWhatIsCached(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: withEvents(0)})
	live := openEvents(t, s, "")
	if v, _ := live.next(); v.name != "open" || v.Stream != "0000000000000007" {
		t.Fatalf("the stream begins with %+v", v)
	}
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 1, "seed": 1})
	s.WaitIdle(t)
	want := hashesOf(encode(onceUpon), 4)
	for len(live.cached) < len(want) {
		if v, ok := live.next(); !ok || v.name != "stored" {
			t.Fatalf("%+v", v)
		}
	}
	if !maps.Equal(live.cached, want) {
		t.Errorf("the reader knows %v, want %v", live.cached, want)
	}
	// A stream from the beginning replays the same.
	replayed := openEvents(t, s, "?after=0")
	for replayed.last < live.last {
		replayed.next()
	}
	if !maps.Equal(replayed.cached, want) {
		t.Errorf("the replay returns %v", replayed.cached)
	}
	// A flush clears, for both.
	post(t, s, "/flush_cache", nil)
	for _, reader := range []*eventReader{live, replayed} {
		if v, _ := reader.next(); v.name != "cleared" || len(reader.cached) != 0 {
			t.Errorf("after a flush: %+v", v)
		}
	}
	if strings.Contains(s.Logs(), "panic") {
		t.Error(s.Logs())
	}
}

func TestKVEventsClearAtANewEpoch(t *testing.T) {
	var crash atomic.Bool
	s := testserver.Start(t, testserver.Options{Change: func(spec *engine.Spec) {
		withEvents(0)(spec)
		spec.Intercept = func(role messages.Actor, msg any) {
			if _, done := msg.(*messages.BatchDone); done && role == messages.Former && crash.CompareAndSwap(true, false) {
				panic("injected")
			}
		}
	}})
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 1})
	s.WaitIdle(t)
	crash.Store(true)
	post(t, s, "/v1/completions", object{"prompt": "x", "max_tokens": 1})
	s.WaitIdle(t)
	e := openEvents(t, s, "?after=0")
	var names []string
	for len(names) == 0 || names[len(names)-1] != "cleared 2" {
		v, ok := e.next()
		if !ok {
			t.Fatalf("the stream ended after %v", names)
		}
		names = append(names, fmt.Sprint(v.name, " ", v.Epoch))
	}
	if text := strings.Join(names, ", "); !strings.HasPrefix(text, "open 0, cleared 1, stored 1") || len(e.cached) != 0 {
		t.Errorf("the events are %s; %d pages are believed in", text, len(e.cached))
	}
}

func TestKVEventsTellOfAGap(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: withEvents(1)})
	for i := range 3 {
		post(t, s, "/v1/completions", object{"prompt": fmt.Sprint(i, onceUpon), "max_tokens": 1})
	}
	s.WaitIdle(t)
	for _, after := range []string{"?after=1", "?after=999999"} {
		e := openEvents(t, s, after)
		e.next()
		if v, _ := e.next(); v.name != "gap" || v.Reason == "" {
			t.Errorf("%s: %+v", after, v)
		}
	}
}

// A client that disconnects leaves nothing behind: there is room for only one.
func TestKVEventsOfAClientThatLeft(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: func(spec *engine.Spec) {
		withEvents(0)(spec)
		spec.Observer.Readers = 1
	}})
	for range 3 {
		e := openEvents(t, s, "")
		e.next()
		if a := send(t, s, "GET", "/v1/kv_events", nil); a.status != http.StatusTooManyRequests {
			t.Errorf("a second reader got %d", a.status)
		}
		e.cancel()
		for end := time.Now().Add(10 * time.Second); ; { // until the server has seen it
			if free(t, s) {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the subscription is still there")
			}
		}
	}
}

// free reports whether the observer accepts another reader.
func free(t testing.TB, s *testserver.Server) bool {
	reply := make(chan *messages.EventsSubscribed, 1)
	s.Engine.Observe(&messages.SubscribeEvents{ID: 1 << 40, FromNow: true, Events: make(chan messages.ObservedEvent, 1), Reply: reply})
	a := <-reply
	s.Engine.Observe(&messages.DropSubscription{ID: 1 << 40})
	return a.Refused == ""
}

func TestKVEventsAreOffByDefault(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	if a := send(t, s, "GET", "/v1/kv_events", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "kv-events") {
		t.Errorf("%d: %s", a.status, a.body)
	}
	on := testserver.Start(t, testserver.Options{Change: withEvents(0)})
	if a := send(t, on, "GET", "/v1/kv_events?after=-1", nil); a.status != http.StatusBadRequest || errorOf(t, a)["param"] != "after" {
		t.Errorf("%d: %s", a.status, a.body)
	}
}

func TestKVEventsNeedTheKeyAndEndWithTheServer(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: withEvents(0), HTTP: httpapi.Options{APIKeys: []string{"k"}}})
	if a := send(t, s, "GET", "/v1/kv_events", nil); a.status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", a.status)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/v1/kv_events", nil)
	r.Header.Set("Authorization", "Bearer k")
	a, err := testserver.Client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	s.HTTP.Drain()
	if _, err := io.ReadAll(a.Body); err != nil {
		t.Errorf("at the end of the server: %v", err)
	}
}

func TestASilentStreamOfKVEventsShowsThatItLives(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: withEvents(0), HTTP: httpapi.Options{KeepAlive: time.Millisecond}})
	e := openEvents(t, s, "")
	for e.lines.Scan() && e.lines.Text() != ": alive" {
	}
	if e.lines.Text() != ": alive" {
		t.Error("nothing came")
	}
}
