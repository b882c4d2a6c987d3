package telemetry

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

func pool() Pool {
	return Pool{Pages: 100, PageSize: 16, BytesPerToken: 10, StepBytes: 500,
		ByPurpose: map[string]int64{"weights": 7000, "kv": 16160, "activations": 100, "workspace": 50}}
}

func TestMemoryShowsOwnersApart(t *testing.T) {
	m := New("tiny", 1, zerolog.Nop())
	for name, v := range map[messages.Metric]float64{messages.PagesFree: 20, messages.PagesEvictable: 50, messages.PagesProtected: 10,
		messages.PagesLeased: 99 /* of another moment */, messages.CacheQueryTokens: 400, messages.CacheHitTokens: 100, messages.RadixNodes: 3} {
		m.Record(name, v)
	}
	s := m.Memory(pool())
	if s.Total != 16000 || s.Free != 3200 || s.Evictable != 8000 || s.Locked != 1600 || s.Leased != 3200 || s.Used != 4800 {
		t.Errorf("the pool: %+v", s)
	}
	if *s.HitRate != 0.25 || s.RadixNodes != 3 {
		t.Errorf("the cache: hit rate %v, %d nodes", *s.HitRate, s.RadixNodes)
	}
	if s.Allocated != 23310 || s.Reserved != 23310+350 {
		t.Errorf("the device: %d allocated, %d reserved", s.Allocated, s.Reserved)
	}
	text, _ := json.Marshal(s)
	for _, key := range []string{"total_kv_cache", "used_kv_cache", "free_kv_cache", "cache_hit_rate", "radix_tree_nodes", "device_memory_allocated", "device_memory_reserved"} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("the statistics lack %s", key)
		}
	}
}

// With any gauges, nothing is negative and the parts add up.
func TestMemoryAddsUp(t *testing.T) {
	for _, c := range []struct{ free, evictable, locked float64 }{{0, 0, 0}, {100, 0, 0}, {100, 100, 100}, {60, 60, 60}, {0, 120, 7}} {
		m := New("tiny", 1, zerolog.Nop())
		m.Record(messages.PagesFree, c.free)
		m.Record(messages.PagesEvictable, c.evictable)
		m.Record(messages.PagesProtected, c.locked)
		s := m.Memory(pool())
		if min(s.Free, s.Evictable, s.Locked, s.Leased) < 0 || s.Free+s.Evictable+s.Locked+s.Leased != s.Total {
			t.Errorf("%v: %+v", c, s)
		}
		if s.HitRate != nil {
			t.Error("a hit rate without a look-up")
		}
	}
}

func TestMemoryIsExposed(t *testing.T) {
	m := New("tiny", 1, zerolog.Nop())
	m.ProbeMemory(pool)
	expose := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	if text := expose(); strings.Contains(text, "cache_hit_rate{") {
		t.Error("a hit rate without a look-up")
	}
	m.Record(messages.PagesFree, 60)
	m.Record(messages.CacheQueryTokens, 4)
	m.Record(messages.CacheHitTokens, 1)
	text := expose()
	for _, want := range []string{
		`troupe_kv_cache_bytes{model_name="tiny",state="free"} 9600`, `troupe_kv_cache_bytes{model_name="tiny",state="total"} 16000`,
		`troupe_num_used_tokens{model_name="tiny"} 640`, `troupe_max_total_num_tokens{model_name="tiny"} 1600`,
		`troupe_memory_bytes{model_name="tiny",purpose="weights"} 7000`, `troupe_cache_hit_rate{model_name="tiny"} 0.25`,
		`troupe_cache_config_info{model_name="tiny",num_pages="100",page_size="16"} 1`,
		`troupe_device_memory_reserved_bytes{model_name="tiny"} 23660`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestHistograms(t *testing.T) {
	m := New("tiny", 1, zerolog.Nop())
	before := m.Histograms()["step_tokens"]
	if _, ok := before.Quantile(.5); ok {
		t.Error("a quantile of nothing")
	}
	for _, v := range []float64{1, 1, 3, 100000} {
		m.Record(messages.StepTokens, v)
	}
	h := m.Histograms()["step_tokens"]
	if h.Count != 4 || h.Sum != 100005 || h.Counts[0] != 2 || h.Counts[2] != 3 {
		t.Fatalf("%+v", h)
	}
	for _, c := range []struct{ q, want float64 }{{.25, .5}, {.5, 1}, {.75, 4}, {1, 16384}} {
		if v, ok := h.Quantile(c.q); !ok || v != c.want {
			t.Errorf("quantile %g is %g, want %g", c.q, v, c.want)
		}
	}
	m.Record(messages.StepTokens, 8)
	d := m.Histograms()["step_tokens"].Since(h)
	if v, _ := d.Quantile(1); d.Count != 1 || d.Sum != 8 || v != 8 {
		t.Errorf("since: %+v", d)
	}
	if again := before.Since(h); again.Count != 0 {
		t.Errorf("after a restart of the server: %+v", again)
	}
}

func TestAnEpochStartsEmpty(t *testing.T) {
	m := New("tiny", 1, zerolog.Nop())
	m.Record(messages.PagesFree, 2)
	m.Record(messages.PagesEvictable, 90)
	m.Record(messages.RequestsRunning, 8)
	m.Engine(0).StartEpoch(100)
	if s := m.Memory(pool()); s.Free != s.Total || m.Values()["num_running_reqs"] != 0 {
		t.Errorf("an epoch starts with %+v", s)
	}
}
