package messages

// Metric names a measurement. It may end in a label, as in {result="applied"}. The names
// are SGLang's, for its dashboards; the exposition replaces its prefix by troupe_.
type Metric string

// Meter takes readings from the shells. Safe for concurrent use.
type Meter interface{ Record(m Metric, v float64) }

// Counters.
const (
	PromptTokens      Metric = "prompt_tokens_total"
	GenerationTokens  Metric = "generation_tokens_total"
	CachedTokens      Metric = "cached_tokens_total"
	CacheQueryTokens  Metric = "cache_query_tokens_total"
	CacheHitTokens    Metric = "cache_hit_tokens_total"
	EvictedTokens     Metric = "evicted_tokens_total"
	RequestsTotal     Metric = "num_requests_total"
	RequestsRefused   Metric = "num_refused_requests_total"
	RequestsAborted   Metric = "num_aborted_requests_total"
	RequestsFailed    Metric = "num_failed_requests_total"
	RequestsTimedOut  Metric = "num_timed_out_requests_total"
	RequestsDisplaced Metric = "num_displaced_requests_total"
	Retractions       Metric = "num_retracted_requests_total"
	RequestsAged      Metric = "num_aged_requests_total"
	LateRows          Metric = "num_late_rows_total"
	ForcedTokens      Metric = "num_forced_tokens_total"
	Steps             Metric = "num_steps_total"
	EpochsStarted     Metric = "num_epochs_total"
	StaleMessages     Metric = "num_stale_messages_total"
	UnknownMessages   Metric = "num_unknown_messages_total"
	WatchdogTimeouts  Metric = "num_watchdog_timeouts_total"
	KVEvents          Metric = "num_kv_events_total"
	KVEventGaps       Metric = "num_kv_event_gaps_total"
	AuditsPassed      Metric = "num_audits_total"
	AuditsFailed      Metric = "num_failed_audits_total"

	ReloadsApplied   Metric = `config_reloads_total{result="applied"}`
	ReloadsUnchanged Metric = `config_reloads_total{result="unchanged"}`
	ReloadsRefused   Metric = `config_reloads_total{result="refused"}`
)

// Gauges.
const (
	RequestsOpen      Metric = "num_open_reqs"
	RequestsWaiting   Metric = "num_queue_reqs"
	RequestsRunning   Metric = "num_running_reqs"
	RequestsRetracted Metric = "num_retracted_reqs"
	TokensWaiting     Metric = "num_queue_tokens"
	QueueWait         Metric = "queue_wait_estimate_seconds"
	Pages             Metric = "kv_pages"
	PagesFree         Metric = "kv_pages_free"
	PagesEvictable    Metric = "kv_pages_evictable"
	PagesProtected    Metric = "kv_pages_protected"
	PagesLeased       Metric = "kv_pages_leased"
	RadixNodes        Metric = "radix_nodes"
	TokenUsage        Metric = "token_usage"
	NewTokenRatio     Metric = "new_token_ratio"
	Ready             Metric = "ready"
)

// Gauges that are read at each exposition instead of being recorded.
const (
	UsedTokens      Metric = "num_used_tokens"
	MaxTotalTokens  Metric = "max_total_num_tokens"
	CacheHitRate    Metric = "cache_hit_rate"
	CacheConfig     Metric = "cache_config_info"
	KVBytes         Metric = "kv_cache_bytes"
	MemoryBytes     Metric = "memory_bytes"
	MemoryAllocated Metric = "device_memory_allocated_bytes"
	MemoryReserved  Metric = "device_memory_reserved_bytes"
)

// Histograms, in seconds unless named otherwise.
const (
	TimeToFirstToken  Metric = "time_to_first_token_seconds"
	InterTokenLatency Metric = "inter_token_latency_seconds"
	RequestLatency    Metric = "e2e_request_latency_seconds"
	QueueTime         Metric = "queue_time_seconds"
	StepLatency       Metric = "step_latency_seconds"
	StepTokens        Metric = "step_tokens"
)
