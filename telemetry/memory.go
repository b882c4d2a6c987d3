package telemetry

import (
	"maps"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/troupe-engine/troupe/messages"
)

// MemoryStats is the memory of an engine, in bytes. It is shown in /server_info, in
// the metrics and by `troupe inspect memory --url`.
//
// Memory of running requests and memory that is only cached are separate. A pool full of
// evictable pages is not short of memory: they are evicted when a request needs them.
type MemoryStats struct {
	Total int64 `json:"total_kv_cache"`
	Used  int64 `json:"used_kv_cache"` // held by running requests: Locked + Leased
	Free  int64 `json:"free_kv_cache"`
	// Evictable is cached and not in use, Locked is cached and used by running requests,
	// Leased is private to running requests. Free + Evictable + Locked + Leased = Total.
	Evictable int64 `json:"evictable_kv_cache"`
	Locked    int64 `json:"locked_kv_cache"`
	Leased    int64 `json:"leased_kv_cache"`

	BytesPerToken int64 `json:"kv_bytes_per_token"`

	// QueryTokens were looked up in the prefix cache since the start, HitTokens of
	// them found. HitRate is the ratio, null before the first lookup.
	QueryTokens int64    `json:"cache_query_tokens"`
	HitTokens   int64    `json:"cache_hit_tokens"`
	HitRate     *float64 `json:"cache_hit_rate"`
	HitRateOver string   `json:"cache_hit_rate_over"` // "since start"
	RadixNodes  int64    `json:"radix_tree_nodes"`

	// Allocated is the memory that the device holds now, the sum of ByPurpose.
	// Reserved adds what the workspace of the largest step still needs.
	Allocated int64            `json:"device_memory_allocated"`
	Reserved  int64            `json:"device_memory_reserved"`
	ByPurpose map[string]int64 `json:"device_memory_by_purpose"`
}

// Pool is what MemoryStats needs besides the readings.
type Pool struct {
	Pages         int // in the pool
	PageSize      int // tokens
	BytesPerToken int64
	ByPurpose     map[string]int64 // memory that the device holds now, in bytes
	StepBytes     int64            // buffers of the largest step
}

// Memory computes the statistics from the readings, which may be of slightly different
// times. Leased is computed as the rest, so the parts always add up to the total.
func (m *Meter) Memory(p Pool) MemoryStats {
	value := m.Values()
	get := func(name messages.Metric) int64 { return int64(value[string(name)]) }
	total := int64(p.Pages)
	free := min(get(messages.PagesFree), total)
	evictable := min(get(messages.PagesEvictable), total-free)
	locked := min(get(messages.PagesProtected), total-free-evictable)
	bytes := func(pages int64) int64 { return pages * int64(p.PageSize) * p.BytesPerToken }
	s := MemoryStats{
		Total: bytes(total), Free: bytes(free), Evictable: bytes(evictable), Locked: bytes(locked),
		Leased: bytes(total - free - evictable - locked), Used: bytes(total - free - evictable),
		BytesPerToken: p.BytesPerToken,
		QueryTokens:   get(messages.CacheQueryTokens), HitTokens: get(messages.CacheHitTokens),
		HitRateOver: "since start", RadixNodes: get(messages.RadixNodes), ByPurpose: p.ByPurpose,
	}
	if s.QueryTokens > 0 {
		s.HitRate = new(float64(s.HitTokens) / float64(s.QueryTokens))
	}
	for _, n := range p.ByPurpose {
		s.Allocated += n
	}
	// The largest step bounds the sum of these two purposes.
	s.Reserved = s.Allocated + max(0, p.StepBytes-p.ByPurpose["activations"]-p.ByPurpose["workspace"])
	return s
}

// ProbeMemory exposes the statistics as metrics. read must be safe for concurrent use.
func (m *Meter) ProbeMemory(read func() Pool) { m.registry.MustRegister(&memoryProbe{m, read}) }

// memoryProbe reads the statistics at each exposition.
type memoryProbe struct {
	meter *Meter
	read  func() Pool
}

// Describe implements prometheus.Collector. The purposes are known only when read.
func (p *memoryProbe) Describe(chan<- *prometheus.Desc) {}

func (p *memoryProbe) Collect(ch chan<- prometheus.Metric) {
	pool := p.read()
	s := p.meter.Memory(pool)
	send := func(name messages.Metric, v float64, labels prometheus.Labels) {
		all := prometheus.Labels{"model_name": p.meter.model}
		maps.Copy(all, labels)
		desc := prometheus.NewDesc("troupe_"+string(name), p.meter.metrics[name].help, nil, all)
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
	send(messages.UsedTokens, float64(s.Used/max(s.BytesPerToken, 1)), nil)
	send(messages.MaxTotalTokens, float64(s.Total/max(s.BytesPerToken, 1)), nil)
	send(messages.MemoryAllocated, float64(s.Allocated), nil)
	send(messages.MemoryReserved, float64(s.Reserved), nil)
	if s.HitRate != nil { // no ratio before the first lookup
		send(messages.CacheHitRate, *s.HitRate, nil)
	}
	send(messages.CacheConfig, 1, prometheus.Labels{"page_size": strconv.Itoa(pool.PageSize), "num_pages": strconv.Itoa(pool.Pages)})
	for state, n := range map[string]int64{"total": s.Total, "free": s.Free, "evictable": s.Evictable, "locked": s.Locked, "leased": s.Leased} {
		send(messages.KVBytes, float64(n), prometheus.Labels{"state": state})
	}
	for purpose, n := range pool.ByPurpose {
		send(messages.MemoryBytes, float64(n), prometheus.Labels{"purpose": purpose})
	}
}
