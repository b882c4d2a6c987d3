package telemetry

import (
	"strconv"

	"github.com/troupe-engine/troupe/messages"
)

// MemoryStats is where the memory of an engine is, in bytes: the statistics of
// /server_info, of the metrics and of `troupe inspect memory --url`.
//
// What running requests hold and what is only cached stand apart. A pool that
// is full of evictable pages is not short of memory: they are given up as soon
// as somebody needs them.
type MemoryStats struct {
	Total int64 `json:"total_kv_cache"`
	// Used is what running requests hold: Locked + Leased.
	Used int64 `json:"used_kv_cache"`
	Free int64 `json:"free_kv_cache"`
	// Evictable is cached and used by nobody, Locked cached and used by running
	// requests, Leased private to them. Free + Evictable + Locked + Leased =
	// Total.
	Evictable int64 `json:"evictable_kv_cache"`
	Locked    int64 `json:"locked_kv_cache"`
	Leased    int64 `json:"leased_kv_cache"`

	BytesPerToken int64 `json:"kv_bytes_per_token"`

	// QueryTokens were looked up in the prefix cache and HitTokens found since
	// the start; HitRate is their ratio, null before the first look-up.
	QueryTokens int64    `json:"cache_query_tokens"`
	HitTokens   int64    `json:"cache_hit_tokens"`
	HitRate     *float64 `json:"cache_hit_rate"`
	HitRateOver string   `json:"cache_hit_rate_over"` // "since start"
	RadixNodes  int64    `json:"radix_tree_nodes"`

	// Allocated is what the device holds, the sum of ByPurpose; Reserved adds
	// what the biggest step will still take for its workspace.
	Allocated int64            `json:"device_memory_allocated"`
	Reserved  int64            `json:"device_memory_reserved"`
	ByPurpose map[string]int64 `json:"device_memory_by_purpose"`
}

// Pool is what a MemoryStats has to know of the pool besides the readings.
type Pool struct {
	Pages         int // of the pool
	PageSize      int // tokens
	BytesPerToken int64
	// ByPurpose is what the device holds now, in bytes.
	ByPurpose map[string]int64
	// StepBytes is what the buffers of the biggest step take.
	StepBytes int64
}

// The purposes whose sum is bounded by the biggest step.
const (
	activations = "activations"
	workspace   = "workspace"
)

// Memory makes the statistics out of the readings. The readings of several
// actors are of slightly different moments; what runs is computed as the rest,
// so that the parts always add up to the total.
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
		rate := float64(s.HitTokens) / float64(s.QueryTokens)
		s.HitRate = &rate
	}
	for _, n := range p.ByPurpose {
		s.Allocated += n
	}
	s.Reserved = s.Allocated + max(0, p.StepBytes-p.ByPurpose[activations]-p.ByPurpose[workspace])
	return s
}

// StartEpoch says what holds when the actors of an epoch start: nothing runs and
// every page is free. They speak only when they handle a message, and what those
// of the last epoch said is void.
func (m *Meter) StartEpoch(pages int) {
	m.Record(messages.Pages, float64(pages))
	m.Record(messages.PagesFree, float64(pages))
	for _, name := range []messages.Metric{
		messages.PagesEvictable, messages.PagesProtected, messages.PagesLeased, messages.RadixNodes, messages.TokenUsage,
		messages.RequestsRunning, messages.RequestsRetracted, messages.RequestsWaiting, messages.TokensWaiting,
	} {
		m.Record(name, 0)
	}
}

// ProbeMemory exposes the statistics as metrics. read may be called from any
// goroutine.
func (m *Meter) ProbeMemory(read func() Pool) {
	stats := func(f func(MemoryStats) float64) func() []Sample {
		return func() []Sample { return One(f(m.Memory(read()))) }
	}
	m.Probe(messages.UsedTokens, stats(func(s MemoryStats) float64 { return float64(s.Used / max(s.BytesPerToken, 1)) }))
	m.Probe(messages.MaxTotalTokens, stats(func(s MemoryStats) float64 { return float64(s.Total / max(s.BytesPerToken, 1)) }))
	m.Probe(messages.MemoryAllocated, stats(func(s MemoryStats) float64 { return float64(s.Allocated) }))
	m.Probe(messages.MemoryReserved, stats(func(s MemoryStats) float64 { return float64(s.Reserved) }))
	m.Probe(messages.CacheHitRate, func() []Sample {
		if rate := m.Memory(read()).HitRate; rate != nil {
			return One(*rate)
		}
		return nil // no look-up yet: no ratio
	})
	m.Probe(messages.CacheConfig, func() []Sample {
		p := read()
		return []Sample{{1, []string{"page_size", strconv.Itoa(p.PageSize), "num_pages", strconv.Itoa(p.Pages)}}}
	}, "page_size", "num_pages")
	m.Probe(messages.KVBytes, func() []Sample {
		s := m.Memory(read())
		return []Sample{
			{float64(s.Total), []string{"state", "total"}}, {float64(s.Free), []string{"state", "free"}},
			{float64(s.Evictable), []string{"state", "evictable"}}, {float64(s.Locked), []string{"state", "locked"}},
			{float64(s.Leased), []string{"state", "leased"}},
		}
	}, "state")
	m.Probe(messages.MemoryBytes, func() []Sample {
		var list []Sample
		for purpose, n := range read().ByPurpose {
			list = append(list, Sample{float64(n), []string{"purpose", purpose}})
		}
		return list
	}, "purpose")
}
