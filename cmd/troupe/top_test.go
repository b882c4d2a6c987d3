package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// served is the bundled model behind the real HTTP adapter.
type served struct {
	*httptest.Server
	node *node.Node
	log  *locked.Buffer
}

func serveBundled(t *testing.T, settings ...string) *served {
	t.Helper()
	command := newServe()
	command.Flags().String("config", "", "")
	if err := command.Flags().Parse(append([]string{"--max-total-tokens", "4096", "--log-level", "debug"}, settings...)); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := configs.Load("", command.Flags())
	if err != nil {
		t.Fatal(err)
	}
	s := &served{log: &locked.Buffer{}}
	if s.node, err = node.Open(t.Context(), node.Options{Config: cfg, Log: zerolog.New(s.log)}); err != nil {
		t.Fatal(err)
	}
	if s.node.Recording, err = node.OpenRecording(cfg, zerolog.New(s.log)); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s.node.API().Handler())
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(s.node.Close(ctx), s.node.Recording.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// complete sends one completion and gives its usage.
func (s *served) complete(t *testing.T, body string) (prompt, output, cached int) {
	t.Helper()
	resp, err := http.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Details    struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	text, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(text, &a); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	return a.Usage.Prompt, a.Usage.Completion, a.Usage.Details.Cached
}

// idle waits until no page is held by a request.
func (s *served) idle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		reply := make(chan *messages.SlotsAudited, 1)
		s.node.Engine.Send(&messages.AskAudit{Reply: reply})
		if a := <-reply; a != nil && a.Count.Leased == 0 && a.Count.Protected == 0 {
			return
		}
	}
	t.Fatal("pages are still held by requests")
}

const story = `{"prompt": "Once upon a time there was a little cat who lived in a very big house with a red door near the sea", "max_tokens": 30, "temperature": 0}`

func testView() view {
	window, start, mean, p99 := 0.5, 0.25, .0125, 1.5
	return view{
		URL: "http://here", Model: "tiny", Ready: true, Uptime: 3725, Window: 2, tokensTotal: 1600,
		Memory:   telemetry.MemoryStats{Total: 16000, Used: 4800, Free: 3200, Evictable: 8000, Locked: 1600, Leased: 3200, BytesPerToken: 10, RadixNodes: 1234, Allocated: 1 << 20, Reserved: 1 << 21},
		Requests: requestCounts{9, 3, 5, 1, 64},
		Rates:    rates{1234.4, 100, 0, 0, .5, 20},
		Cache:    cacheRatios{&window, &start},
		TTFT:     latency{7, &mean, &mean, &p99},
	}
}

func TestFrame(t *testing.T) {
	v := testView()
	want := `troupe top   http://here   tiny   ready   up 1h2m5s
rates and latencies of the last 2.0 s

KV        █████████▓▓▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒·········
          █ leased              320 tokens   20.0 %  3.1…
          ▓ locked              160 tokens   10.0 %  1.6…
          ▒ evictable           800 tokens   50.0 %  7.8…
          · free                320 tokens   20.0 %  3.1…
            pool              1 600 tokens           15.…

requests  5 running of 64, 3 waiting, 1 retracted, 9 ope…
tokens/s  1 234 in, 100 out, 0 evicted; 20 steps/s, 0 re…
cache     hit ratio 50.0 %, 25.0 % since the start; 1 23…
TTFT      mean 12.5 ms, p50 12.5 ms, p99 1.50 s, 7 sampl…
ITL       no sample`
	if got := strings.Join(v.frame(57, false), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range v.frame(57, false) {
		if n := utf8.RuneCountInString(line); n > 57 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// Whoever has a page is seen, and the bar is never longer than it may be.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		leased, locked, evictable, free int64
		want                            string
	}{
		{0, 0, 0, 1000, "··········"}, {1, 0, 0, 999, "█·········"}, {1, 1, 997, 1, "█▓▒▒▒▒▒▒▒·"}, {1000, 0, 0, 0, "██████████"}, {0, 0, 0, 0, "██████████"},
	} {
		v := view{Memory: telemetry.MemoryStats{Total: c.leased + c.locked + c.evictable + c.free, Leased: c.leased, Locked: c.locked, Evictable: c.evictable, Free: c.free}}
		if c.want == "██████████" && v.Memory.Total == 0 {
			continue // no pool, no bar to speak of
		}
		if got := v.bar(10, false); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

func reading(uptime float64, tokens, asked, hit float64) *status {
	s := &status{Uptime: uptime, Ready: true, Metrics: map[string]float64{"generation_tokens_total": tokens, "cache_query_tokens_total": asked, "cache_hit_tokens_total": hit}}
	s.Memory.Stats = &telemetry.MemoryStats{}
	return s
}

func TestRatesCoverTheWindow(t *testing.T) {
	v := newView("u", reading(10, 100, 50, 50), reading(14, 300, 150, 75))
	if v.Window != 4 || v.Rates.GenerationTokens != 50 || *v.Cache.Window != .25 {
		t.Errorf("%+v, hit rate %v", v.Rates, *v.Cache.Window)
	}
	if v.TTFT.Mean != nil {
		t.Error("a latency without a sample")
	}
	// The server was restarted: its counters began again.
	v = newView("u", reading(1000, 9000, 50, 50), reading(2, 40, 0, 0))
	if v.Window != 2 || v.Rates.GenerationTokens != 20 || v.Cache.Window != nil {
		t.Errorf("after a restart: %+v", v)
	}
}

func TestTopShowsARunningServer(t *testing.T) {
	s := serveBundled(t)
	s.complete(t, story)
	s.complete(t, story)
	s.idle(t)
	text := mustRun(t, "", "top", "--url", s.URL, "--once", "--json", "--interval", "10ms")
	var v struct {
		Ready  bool
		Window float64 `json:"window_seconds"`
		Memory telemetry.MemoryStats
		Cache  map[string]*float64
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	m := v.Memory
	if !v.Ready || v.Window <= 0 || m.Evictable == 0 || m.Used != 0 || m.Free+m.Evictable != m.Total || *v.Cache["hit_rate_since_start"] <= 0 || m.ByPurpose["weights"] == 0 {
		t.Errorf("%s", text)
	}
	if page := mustRun(t, "", "top", "--url", s.URL, "--once", "--interval", "10ms"); !strings.Contains(page, "evictable") || strings.Contains(page, "\x1b") {
		t.Errorf("the plain page is\n%s", page)
	}
	table := mustRun(t, "", "inspect", "memory", "--url", s.URL)
	for _, want := range []string{"total KV cache", "evictable", "cache hit rate", "radix tree nodes", "device memory allocated", "workspace"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s:\n%s", want, table)
		}
	}
	if text := mustRun(t, "", "inspect", "memory", "--url", s.URL, "--json"); !strings.Contains(text, `"used_kv_cache": 0`) {
		t.Errorf("the statistics are %s", text)
	}
}

func TestInspectCacheDrawsTheTree(t *testing.T) {
	s := serveBundled(t)
	s.complete(t, story)
	s.idle(t)
	for _, args := range [][]string{{"--depth", "2", "--tokens", "3"}, {"--json"}} {
		text := mustRun(t, "", append([]string{"inspect", "cache", "--url", s.URL}, args...)...)
		want := []string{"1 nodes", "Root Node:", "[R]", "[L]", "ref=0", "slots=["}
		if args[0] == "--json" {
			want = []string{`"namespaces"`, `"locks"`}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%v lacks %s:\n%s", args, w, text)
			}
		}
	}
	if _, err := run(t, "", "inspect", "cache", "--url", s.URL, "--nodes", "99999"); err == nil || !strings.Contains(err.Error(), "10000") {
		t.Errorf("too many nodes: %v", err)
	}
}

// The setting reaches the cache, the observer and the endpoint.
func TestKVEventsOfAServer(t *testing.T) {
	s := serveBundled(t, "--kv-events")
	s.complete(t, story)
	s.idle(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/kv_events?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && lines.Text() != "event: stored" {
	}
	if lines.Text() != "event: stored" {
		t.Errorf("the stream ended without a stored page: %v", lines.Err())
	}
}

func TestRecordingIsDrawn(t *testing.T) {
	s := serveBundled(t)
	file := filepath.Join(t.TempDir(), "out.svg")
	s.complete(t, story)
	out := mustRun(t, "", "inspect", "memory", "--url", s.URL, "--record", "50ms", "--interval", "10ms", "--plot", file)
	if n := strings.Count(out, "evictable"); n != 5 {
		t.Errorf("%d readings:\n%s", n, out)
	}
	if svg, err := os.ReadFile(file); err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("the plot: %v, %d bytes", err, len(svg))
	}
}

// Flags of the plan say nothing about a server that runs already.
func TestLiveMemoryRefusesFlagsOfThePlan(t *testing.T) {
	for _, args := range [][]string{{"--memory", "80GiB"}, {"--page-size", "32"}, {"--model", "x"}} {
		_, err := run(t, "", append([]string{"inspect", "memory", "--url", "http://127.0.0.1:1"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), args[0]+" plans a server") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := run(t, "", "inspect", "memory", "--api-key", "k"); err == nil || !strings.Contains(err.Error(), "--url") {
		t.Errorf("a key without a server: %v", err)
	}
}

// A server that goes away ends a recording; what was read until then is drawn.
func TestRecordingOutlivesItsServer(t *testing.T) {
	s := serveBundled(t)
	ticks := make(chan time.Time)
	l := &liveMemory{server: remote{url: s.URL}, plot: filepath.Join(t.TempDir(), "out.png")}
	done := make(chan error, 1)
	out := &locked.Buffer{}
	go func() { done <- l.watch(t.Context(), out, ticks, 100) }()
	ticks <- time.Time{}
	ticks <- time.Time{}
	ticks <- time.Time{} // two readings are over
	s.Close()            // when the third is, too: it must not break off
	var err error
	for err == nil {
		select {
		case ticks <- time.Time{}:
		case err = <-done:
		}
	}
	if !strings.Contains(err.Error(), "no server answers") {
		t.Errorf("the recording ended with %v", err)
	}
	if _, err := os.Stat(l.plot); err != nil || !strings.Contains(out.String(), "evictable") {
		t.Errorf("nothing was drawn: %v", err)

	}
}

func TestTopWaitsForAServerThatWentAway(t *testing.T) {
	answers := make(chan int, 4)
	info, _ := json.Marshal(map[string]any{"ready": true, "memory": map[string]any{"stats": telemetry.MemoryStats{}}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(<-answers)
		w.Write(info)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error, 1)
	out := &locked.Buffer{}
	answers <- 200
	go func() { done <- (&top{server: remote{url: s.URL}, out: out}).run(ctx, ticks) }()
	for _, status := range []int{200, 503, 200} {
		answers <- status
		ticks <- time.Time{}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) < 2 || !strings.HasPrefix(lines[0], "kv:") || !strings.HasPrefix(lines[1], "no reading:") {
		t.Errorf("the lines are %q", lines)
	}
}

func TestViewsNameWhatIsWrong(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	defer other.Close()
	locked := serveBundled(t, "--api-key", "secret")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nobody there":   {[]string{"top", "--once", "--url", closed.URL}, "troupe serve"},
		"not an address": {[]string{"top", "--url", "ftp://x"}, "http://127.0.0.1:30000"},
		"another server": {[]string{"top", "--once", "--url", other.URL}, "no Troupe server"},
		"no key":         {[]string{"inspect", "memory", "--url", locked.URL}, "--api-key"},
		"no url":         {[]string{"inspect", "memory", "--record", "5s"}, "--url"},
		"no record":      {[]string{"inspect", "memory", "--url", "x", "--plot", "a.svg"}, "--record"},
		"no reading":     {[]string{"inspect", "memory", "--url", "x", "--record", "1ms"}, "gives no reading"},
		"no curve":       {[]string{"inspect", "memory", "--url", "x", "--record", "1s", "--plot", "a.svg"}, "two readings"},
		"no format":      {[]string{"inspect", "memory", "--url", "x", "--record", "5s", "--plot", "a.gif"}, "svg"},
		"too many":       {[]string{"inspect", "memory", "--url", "x", "--record", "5h", "--interval", "10ms"}, "lengthen"},
		"no interval":    {[]string{"top", "--interval", "0s"}, "--interval"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, "", c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if out := mustRun(t, "", "inspect", "memory", "--url", locked.URL, "--api-key", "secret"); !strings.Contains(out, "evictable") {
		t.Error(out)
	}
	guarded := serveBundled(t, "--api-key", "secret", "--admin-api-key", "boss")
	if _, err := run(t, "", "inspect", "cache", "--url", guarded.URL, "--api-key", "secret"); err == nil || !strings.Contains(err.Error(), "--admin-api-key") {
		t.Errorf("the tree for an API key: %v", err)
	}
	if out := mustRun(t, "", "inspect", "cache", "--url", guarded.URL, "--admin-api-key", "boss"); !strings.Contains(out, "nodes") {
		t.Error(out)
	}
	t.Setenv("TROUPE_API_KEY", "secret")
	t.Setenv("TROUPE_ADMIN_API_KEY", "boss")
	for _, args := range [][]string{{"inspect", "cache"}, {"inspect", "memory"}, {"top", "--once", "--interval", "10ms"}} {
		mustRun(t, "", append(args, "--url", guarded.URL)...)
	}
	if _, err := (&remote{url: closed.URL}).status(t.Context()); errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A server that counts wrong, or is none of ours, breaks no frame.
func TestBarOfImpossibleCounts(t *testing.T) {
	v := testView()
	v.Memory.Leased, v.Memory.Free, v.Memory.Locked = 1e18, math.MaxInt64, -1
	if n := utf8.RuneCountInString(v.bar(40, false)); n < 40 || n > 4*40 {
		t.Errorf("%d cells: %s", n, v.bar(40, false))
	}
}
