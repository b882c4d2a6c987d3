package remote

import (
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry"
)

// View is the state, and rates and latencies over the window since the previous reading.
type View struct {
	URL      string                `json:"url"`
	Model    string                `json:"model"`
	Device   string                `json:"device"`
	Version  string                `json:"version"`
	Ready    bool                  `json:"ready"`
	Uptime   float64               `json:"uptime_seconds"`
	Window   float64               `json:"window_seconds"`
	Memory   telemetry.MemoryStats `json:"memory"`
	Requests RequestCounts         `json:"requests"`
	Rates    Rates                 `json:"per_second"`
	Cache    CacheRatios           `json:"cache"`
	TTFT     Latency               `json:"time_to_first_token"`
	ITL      Latency               `json:"inter_token_latency"`

	MaxTokens int64 `json:"-"` // of the pool
	PageSize  int64 `json:"-"` // tokens
}

// RequestCounts are current numbers of requests.
type RequestCounts struct {
	Open       int `json:"open"` // in intake's table
	Waiting    int `json:"waiting"`
	Running    int `json:"running"`
	Retracted  int `json:"retracted"`   // waiting to run again
	MaxRunning int `json:"max_running"` // of all engines together
}

// Rates are per second of the window.
type Rates struct {
	PromptTokens     float64 `json:"prompt_tokens"`
	GenerationTokens float64 `json:"generation_tokens"`
	EvictedTokens    float64 `json:"evicted_tokens"`
	Retractions      float64 `json:"retractions"`
	Requests         float64 `json:"requests"`
	Steps            float64 `json:"steps"`
}

// CacheRatios are hit tokens divided by query tokens; null without a query.
type CacheRatios struct {
	Window     *float64 `json:"hit_rate_window"`
	SinceStart *float64 `json:"hit_rate_since_start"`
}

// Latency summarises the samples of the window, in seconds; null without samples.
type Latency struct {
	Count uint64   `json:"count"`
	Mean  *float64 `json:"mean"`
	P50   *float64 `json:"p50"`
	P99   *float64 `json:"p99"`
}

// NewView compares two readings. After a restart in between, the window begins with it.
func NewView(url string, before, now *Status) *View {
	v := &View{
		URL: url, Model: now.Model.ID, Device: now.Device.Name, Version: now.Version, Ready: now.Ready, Uptime: now.Uptime,
		Window: now.Uptime - before.Uptime, Memory: *now.Memory.Stats, MaxTokens: now.Memory.MaxTokens, PageSize: now.Memory.PageSize,
	}
	if v.Window <= 0 {
		before, v.Window = &Status{}, now.Uptime
	}
	count := func(m messages.Metric) int { return int(now.Metrics[string(m)]) }
	v.Requests = RequestCounts{count(messages.RequestsOpen), count(messages.RequestsWaiting), count(messages.RequestsRunning),
		count(messages.RequestsRetracted), now.Scheduler.MaxRunning * max(1, now.Scheduler.DataParallel)}
	delta := func(m messages.Metric) float64 { return now.Metrics[string(m)] - before.Metrics[string(m)] }
	rate := func(m messages.Metric) float64 {
		if v.Window <= 0 {
			return 0
		}
		return delta(m) / v.Window
	}
	v.Rates = Rates{rate(messages.PromptTokens), rate(messages.GenerationTokens), rate(messages.EvictedTokens),
		rate(messages.Retractions), rate(messages.RequestsTotal), rate(messages.Steps)}
	v.Cache.SinceStart = v.Memory.HitRate
	if asked := delta(messages.CacheQueryTokens); asked > 0 {
		ratio := delta(messages.CacheHitTokens) / asked
		v.Cache.Window = &ratio
	}
	v.TTFT = newLatency(messages.TimeToFirstToken, before, now)
	v.ITL = newLatency(messages.InterTokenLatency, before, now)
	return v
}

func newLatency(m messages.Metric, before, now *Status) Latency {
	h := now.Histograms[string(m)].Since(before.Histograms[string(m)])
	if h.Count == 0 {
		return Latency{}
	}
	mean := h.Sum / float64(h.Count)
	l := Latency{Count: h.Count, Mean: &mean}
	for _, q := range []struct {
		at float64
		to **float64
	}{{.5, &l.P50}, {.99, &l.P99}} {
		if value, ok := h.Quantile(q.at); ok {
			*q.to = &value
		}
	}
	return l
}
