package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/commandline"
	"github.com/troupe-engine/troupe/testkit/locked"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, cli.Root("test", New()), "", append([]string{"cluster"}, args...)...)
}

// failed is a failure of two minutes ago, in words that try to steer the terminal.
var failed = &report.Failure{At: time.Now().Add(-2*time.Minute - time.Second), Actor: "engine/cache", Cause: "index\tout\nof range\x1b[2J"}

// answering serves what it is given as JSON, and records the requests.
type answering struct {
	*httptest.Server
	asked []string // method, address and body
}

func serve(t *testing.T, answers map[string]any) *answering {
	a := &answering{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.asked = append(a.asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+string(body))
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"error": map[string]any{"message": "another operator acts on engine-1\x1b[2J", "code": "in_progress"}}
		}
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(a.Close)
	return a
}

func wantText(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("lacks %q:\n%s", w, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("steers the terminal: %q", got)
	}
}

func TestStatus(t *testing.T) {
	s := serve(t, map[string]any{"/v1/cluster": map[string]any{"nodes": []report.Node{
		{Name: "gateway-1", Role: "gateway", State: report.Ready, Running: 3},
		{Name: "engine-1", Role: "engine", State: report.Draining, Model: "little", Epoch: 7, Restarts: 6, Running: 2, Waiting: 1, KVUsed: 1200, KVTotal: 65536, LastFailure: failed},
	}}})
	out, err := run(t, "status", "--url", s.URL, "--admin-api-key", "boss")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	wantText(t, lines[0], "NODE", "KV TOKENS", "LAST FAILURE")
	if got := strings.Fields(lines[1]); !slices.Equal(got, []string{"gateway-1", "gateway", "ready", "-", "-", "0", "3", "0", "-", "-"}) {
		t.Errorf("%q", got)
	}
	wantText(t, lines[2], "draining  little  7", "1 200 of 65 536", `2 min ago: engine/cache: index\u0009out\u000aof range\u001b[2J`)
	if want := "GET /v1/cluster Bearer boss "; !slices.Equal(s.asked, []string{want}) {
		t.Errorf("asked %q", s.asked)
	}

	if out, err = run(t, "status", "--url", s.URL, "--node", "gateway-1"); err != nil || strings.Contains(out, "engine-1") || !strings.Contains(out, "gateway-1") {
		t.Errorf("%v:\n%s", err, out)
	}
	if _, err = run(t, "status", "--url", s.URL, "--node", "gw"); err == nil || err.Error() != `--node "gw" is not known; use one of gateway-1, engine-1` {
		t.Error(err)
	}
	out, err = run(t, "status", "--url", s.URL, "--json")
	var answer struct{ Nodes []report.Node }
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil || len(answer.Nodes) != 2 || answer.Nodes[1].LastFailure.Cause != failed.Cause {
		t.Errorf("%v: %s", err, out)
	}
}

func TestActors(t *testing.T) {
	s := serve(t, map[string]any{"/v1/cluster/actors": map[string]any{"actors": []report.Actor{
		{Node: "engine-1", Path: "engine/cache", Role: "cache", State: report.Busy, Mailbox: 3, MailboxPeak: 17, Handled: 123456, Restarts: 2, BusyMS: 1234.56, LastFailure: failed},
	}}})
	out, err := run(t, "actors", "--url", s.URL, "--node", "engine-1")
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, out, "NODE ", "PEAK", "engine-1  engine/cache  cache  busy   3        17    123456   2         1.235s  2 min ago: engine/cache: index")
	if !strings.HasPrefix(s.asked[0], "GET /v1/cluster/actors?node=engine-1 ") {
		t.Errorf("asked %q", s.asked)
	}
	out, err = run(t, "actors", "--url", s.URL, "--json")
	var answer actors
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil || len(answer.Actors) != 1 || answer.Actors[0].Handled != 123456 {
		t.Errorf("%v: %s", err, out)
	}
	if !strings.HasPrefix(s.asked[1], "GET /v1/cluster/actors  ") {
		t.Errorf("asked %q", s.asked)
	}
}

func TestActions(t *testing.T) {
	s := serve(t, map[string]any{"/v1/cluster/actions": report.Outcome{Node: "engine-1", Path: "engine/cache", Outcome: "epoch 7 has ended\x1b[2J"}})
	out, err := run(t, "restart", "engine-1/engine/cache", "--reason", "it grows", "--force", "--url", s.URL)
	if err != nil || out != "engine-1/engine/cache: epoch 7 has ended\\u001b[2J\n" {
		t.Errorf("%v: %q", err, out)
	}
	if want := `POST /v1/cluster/actions  {"action":"restart","target":"engine-1/engine/cache","reason":"it grows","force":true}`; !slices.Equal(s.asked, []string{want}) {
		t.Errorf("asked %q", s.asked)
	}
	out, err = run(t, "drain", "engine-1", "--reason", "x", "--json", "--url", s.URL)
	var answer report.Outcome
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil || answer.Path != "engine/cache" {
		t.Errorf("%v: %q", err, out)
	}

	s = serve(t, nil)
	if _, err = run(t, "stop", "engine-1", "--reason", "x", "--url", s.URL); err == nil || !strings.Contains(err.Error(), "another operator acts on engine-1") || strings.Contains(err.Error(), "\x1b") {
		t.Error(err)
	}
}

// What no node could do is refused before any call.
func TestActionsRefuse(t *testing.T) {
	s := serve(t, nil)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no reason":       {[]string{"drain", "engine-1"}, "--reason is missing; say why"},
		"blank reason":    {[]string{"drain", "engine-1", "--reason", "  "}, "--reason is missing"},
		"long reason":     {[]string{"drain", "engine-1", "--reason", strings.Repeat("a", 501)}, "reason has 501 bytes; at most 500"},
		"no target":       {[]string{"restart", "--reason", "x"}, "no target is given; give a node, for example troupe cluster restart engine-2"},
		"empty target":    {[]string{"restart", "", "--reason", "x"}, "it must be a node, or NODE/PATH"},
		"two targets":     {[]string{"stop", "engine-1", "engine-2", "--reason", "x"}, "one target is expected, but 2 are given: engine-1 engine-2"},
		"drain an actor":  {[]string{"drain", "engine-1/engine/cache", "--reason", "x"}, "drain is for nodes"},
		"unknown command": {[]string{"drian"}, "did you mean troupe cluster drain?"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if len(args) > 1 {
				args = append(args, "--url", s.URL)
			}
			if _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if len(s.asked) > 0 {
		t.Errorf("the server was asked: %q", s.asked)
	}
}

// streaming serves the next of its streams to each caller: events, then an end. A nil
// stream is a broken server.
func streaming(t *testing.T, streams ...[]report.Event) (url string, asked *locked.Buffer) {
	asked = &locked.Buffer{}
	next := make(chan []report.Event, len(streams))
	for _, s := range streams {
		next <- s
	}
	close(next)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(asked, r.URL)
		events, ok := <-next
		switch {
		case !ok:
			w.WriteHeader(http.StatusUnauthorized)
		case events == nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, ": open\n\n")
		for _, e := range events {
			text, _ := json.Marshal(e)
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.Number, text)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)

func event(number uint64, node string) report.Event {
	return report.Event{Number: number, At: noon, Node: node, Kind: report.EventJoined, Text: fmt.Sprintf("event %d\x1b[2J", number)}
}

func TestEventsReconnectAfterTheLastOne(t *testing.T) {
	url, asked := streaming(t, []report.Event{event(5, "a"), event(6, "b")}, nil, nil, []report.Event{event(7, "a")})
	var out, warned locked.Buffer
	var waits []time.Duration
	e := &events{after: 4, pause: func(_ context.Context, d time.Duration) { waits = append(waits, d) }}
	e.server.URL = url
	err := e.run(t.Context(), &out, &warned)
	if err == nil || !strings.Contains(err.Error(), "--api-key") {
		t.Errorf("a refusal is not the end: %v", err)
	}
	if want := "2026-05-04 12:00:00.000  a            joined   event 5\\u001b[2J\n" +
		"2026-05-04 12:00:00.000  b            joined   event 6\\u001b[2J\n" +
		"2026-05-04 12:00:00.000  a            joined   event 7\\u001b[2J\n"; out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
	if want := "4 6 6 6 7"; strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(asked.String(), "/v1/cluster/events?after=", "")), "\n", " ") != want {
		t.Errorf("asked %q, want after %s", asked.String(), want)
	}
	if want := []time.Duration{firstWait, 2 * firstWait, 4 * firstWait, firstWait}; !slices.Equal(waits, want) {
		t.Errorf("waited %v, want %v", waits, want)
	}
	for _, want := range []string{"the stream has ended; connecting again after event 6\n", "503", "connected again\n"} {
		if !strings.Contains(warned.String(), want) {
			t.Errorf("%q lacks %q", warned.String(), want)
		}
	}
}

func TestEventsAsJSONOfOneNode(t *testing.T) {
	moved := event(6, "b")
	moved.PauseMS, moved.Operator = 1.5, "the admin key"
	url, _ := streaming(t, []report.Event{event(5, "a"), moved})
	out, err := run(t, "events", "--url", url, "--node", "b", "--no-follow", "--json")
	var got report.Event
	if err != nil || strings.Count(out, "\n") != 1 || json.Unmarshal([]byte(out), &got) != nil || got.Number != 6 || got.PauseMS != 1.5 {
		t.Errorf("%v: %s", err, out)
	}
}

// A server does not say where the events that it keeps end: --no-follow ends when it
// has nothing more to say.
func TestEventsWithoutFollowing(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(event(5, "a"))
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	if out, err := run(t, "events", "--url", s.URL, "--no-follow"); err != nil || strings.Count(out, "event 5") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestEventsOfAServerThatFails(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `data: {"error":{"message":"no more memory"}}`+"\n\n")
	}))
	defer s.Close()
	var warned locked.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	e := &events{pause: func(context.Context, time.Duration) { cancel() }}
	e.server.URL = s.URL
	if err := e.run(ctx, io.Discard, &warned); err != nil || !strings.Contains(warned.String(), "the server has ended the stream: no more memory; connecting again after event 0") {
		t.Errorf("%v: %s", err, warned.String())
	}
	s.Close()
	if err := e.run(t.Context(), io.Discard, &warned); err == nil || !strings.Contains(err.Error(), "no server is running") {
		t.Errorf("the first connection failed: %v", err)
	}
}
