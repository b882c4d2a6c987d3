package remote

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/telemetry"
)

func testView() View {
	window, start, mean, p99 := 0.5, 0.25, .0125, 1.5
	return View{
		URL: "http://here", Model: "tiny", Ready: true, Uptime: 3725, Window: 2, MaxTokens: 1600,
		Memory:   telemetry.MemoryStats{Total: 16000, Used: 4800, Free: 3200, Evictable: 8000, Locked: 1600, Leased: 3200, BytesPerToken: 10, RadixNodes: 1234, Allocated: 1 << 20, Reserved: 1 << 21},
		Requests: RequestCounts{9, 3, 5, 1, 64},
		Rates:    Rates{1234.4, 100, 0, 0, .5, 20},
		Cache:    CacheRatios{&window, &start},
		TTFT:     Latency{7, &mean, &mean, &p99},
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
cache     hit ratio 50.0 % (25.0 % since the start); 1 2…
TTFT      mean 12.5 ms, p50 12.5 ms, p99 1.50 s, 7 sampl…
ITL       no samples`
	if got := strings.Join(v.Screen(57, false), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range v.Screen(57, false) {
		if n := utf8.RuneCountInString(line); n > 57 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// Every owner with a page is visible, and the bar has the right length.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		leased, locked, evictable, free int64
		want                            string
	}{
		{0, 0, 0, 1000, "··········"}, {1, 0, 0, 999, "█·········"}, {1, 1, 997, 1, "█▓▒▒▒▒▒▒▒·"}, {1000, 0, 0, 0, "██████████"}, {0, 0, 0, 0, "██████████"},
	} {
		v := View{Memory: telemetry.MemoryStats{Total: c.leased + c.locked + c.evictable + c.free, Leased: c.leased, Locked: c.locked, Evictable: c.evictable, Free: c.free}}
		if c.want == "██████████" && v.Memory.Total == 0 {
			continue // no pool, so any bar is right
		}
		if got := v.bar(10, false); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

func reading(uptime float64, tokens, asked, hit float64) *Status {
	s := &Status{Uptime: uptime, Ready: true, Metrics: map[string]float64{"generation_tokens_total": tokens, "cache_query_tokens_total": asked, "cache_hit_tokens_total": hit}}
	s.Memory.Stats = &telemetry.MemoryStats{}
	return s
}

func TestRatesCoverTheWindow(t *testing.T) {
	v := NewView("u", reading(10, 100, 50, 50), reading(14, 300, 150, 75))
	if v.Window != 4 || v.Rates.GenerationTokens != 50 || *v.Cache.Window != .25 {
		t.Errorf("%+v, hit rate %v", v.Rates, *v.Cache.Window)
	}
	if v.TTFT.Mean != nil {
		t.Error("a latency without a sample")
	}
	// The server was restarted: its counters start again.
	v = NewView("u", reading(1000, 9000, 50, 50), reading(2, 40, 0, 0))
	if v.Window != 2 || v.Rates.GenerationTokens != 20 || v.Cache.Window != nil {
		t.Errorf("after a restart: %+v", v)
	}
}

// The limit on running requests holds for each engine, the count is of all of them.
func TestTheLimitIsOfAllEngines(t *testing.T) {
	now := reading(1, 0, 0, 0)
	now.Scheduler.MaxRunning = 4
	for engines, want := range map[int]int{0: 4, 1: 4, 2: 8} { // 0: not reported
		now.Scheduler.DataParallel = engines
		if got := NewView("u", now, now).Requests.MaxRunning; got != want {
			t.Errorf("%d engines run up to %d requests, want %d", engines, got, want)
		}
	}
}

// Impossible counts do not break the page.
func TestBarOfImpossibleCounts(t *testing.T) {
	v := testView()
	v.Memory.Leased, v.Memory.Free, v.Memory.Locked = 1e18, math.MaxInt64, -1
	if n := utf8.RuneCountInString(v.bar(40, false)); n < 40 || n > 4*40 {
		t.Errorf("%d cells: %s", n, v.bar(40, false))
	}
}
