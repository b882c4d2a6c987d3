package node

import (
	"runtime"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/telemetry"
)

// Ready reports whether requests can be computed.
func (n *Node) Ready() bool {
	if n.cluster != nil {
		return slices.ContainsFunc(n.cluster.all(), (*gatewayModel).Ready)
	}
	return n.Engine.Ready()
}

// Info returns the answer of /server_info.
func (n *Node) Info() map[string]any {
	info := map[string]any{}
	if n.core != nil {
		info = n.engineInfo()
	}
	info["version"], info["ready"] = n.opt.Version, n.Ready()
	info["uptime_seconds"] = time.Since(n.started).Round(time.Millisecond).Seconds()
	info["runtime"] = map[string]any{"go": runtime.Version(), "gomaxprocs": runtime.GOMAXPROCS(0), "goroutines": runtime.NumGoroutine()}
	if n.cluster != nil {
		info["cluster"] = n.cluster.info()
	}
	return info
}

// engineInfo is about this process's engine.
func (n *Node) engineInfo() map[string]any {
	c, p, device := n.Config(), n.Checkpoint.Program, n.Device.Info()
	return map[string]any{
		"model": map[string]any{
			"id": n.Name, "architecture": n.Checkpoint.Config.Architecture, "context_length": p.Context, "vocab_size": p.Vocab,
			"weight_dtype": n.Checkpoint.WeightDType().String(),
		},
		"output_format": formatInfo(&n.format),
		"device":        map[string]any{"kind": device.Kind, "name": device.Name, "threads": device.Threads},
		"fingerprint":   n.Fingerprint(),
		"memory": map[string]any{
			"max_total_num_tokens": n.Plan.Tokens * len(n.Models), "page_size": c.PageSize, "num_pages": n.Plan.Pages * len(n.Models),
			"kv_cache_dtype": n.KVDType.String(), "bytes": n.bytes(), "stats": n.Meter.Memory(n.pool()), "plan": n.Plan.Figures,
		},
		"scheduler": map[string]any{
			"max_running_requests": n.Plan.MaxRunning, "max_prefill_tokens": c.Batch.MaxPrefillTokens,
			"data_parallel_size": c.DataParallel, "load_balance_method": c.LoadBalance,
			"chunked_prefill_size": c.Chunk(), "disable_radix_cache": c.DisableRadixCache,
			"inter_token_latency_target": c.Batch.InterTokenLatencyTarget.String(), "priority_preemption": c.Batch.PriorityPreemption,
			"schedule_policy": c.Queue.SchedulePolicy, "radix_eviction_policy": c.EvictionPolicy, "steps_in_flight": stepsInFlight(c),
			"kv_layout": c.KVLayout, "contiguous_kv": c.Alloc.Contiguous, "queue_timeout": c.Requests.QueueTimeout.String(), "request_timeout": c.Requests.RequestTimeout.String(),
			"max_open_requests": c.Requests.MaxOpenRequests, "max_queued_requests": c.Requests.MaxQueuedRequests, "max_queued_tokens": c.Requests.MaxQueuedTokens,
		},
		"metrics": n.Meter.Values(), "histograms": n.Meter.Histograms(),
	}
}

// readings are those of a meter, for the board.
func readings(m *telemetry.Meter) func() any {
	return func() any { return map[string]any{"metrics": m.Values(), "histograms": m.Histograms()} }
}

// pool returns the constants of the memory statistics.
func (n *Node) pool() telemetry.Pool {
	p := n.Checkpoint.Program
	return telemetry.Pool{
		Pages: n.Plan.Pages * len(n.Models), PageSize: n.Config().PageSize, BytesPerToken: p.KV.BytesPerToken(n.KVDType),
		ByPurpose: n.bytes(), StepBytes: int64(len(n.Models)) * memoryOf(n.Device, gpu.Memory{}, 0).workspace(n.Config(), p, n.Plan.MaxRunning),
	}
}

// bytes returns the memory that the models hold, by purpose.
func (n *Node) bytes() map[string]int64 {
	sum := map[string]int64{}
	for _, m := range n.Models {
		for purpose, b := range m.Bytes() {
			sum[purpose] += b
		}
	}
	return sum
}
