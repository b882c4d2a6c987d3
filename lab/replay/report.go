package replay

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/lab/plot"
)

// Report is the result of a replay. It does not depend on the machine that ran it: equal
// runs have equal reports. Times are virtual, in seconds.
type Report struct {
	Setup      Setup           `json:"setup"`
	Requests   Requests        `json:"requests"`
	Tokens     Tokens          `json:"tokens"`
	Cache      Cache           `json:"cache"`
	TTFT       measure.Latency `json:"ttft"` // from the request's arrival in the trace
	ITL        measure.Latency `json:"itl"`  // between a request's tokens
	E2E        measure.Latency `json:"e2e"`
	Throughput Throughput      `json:"throughput"`
	Steps      Steps           `json:"steps"`
	Queue      Queue           `json:"queue"`
	Replicas   []ByReplica     `json:"replicas"`
	Series     []Sample        `json:"series,omitempty"`
	Warnings   measure.Notes   `json:"warnings,omitempty"`
}

// Setup is the options, defaults filled in.
type Setup struct {
	GPU      string `json:"gpu"`
	Model    string `json:"model"`
	Replicas int    `json:"replicas"`
	Routing  string `json:"routing,omitempty"` // of several replicas
	// Of a cluster; the delays are in seconds.
	Gateways           int     `json:"gateways,omitempty"`
	EventDelay         float64 `json:"event_delay,omitempty"`
	LoseReplica        float64 `json:"lose_replica,omitempty"`
	Restart            float64 `json:"replica_restart,omitempty"`
	Policy             string  `json:"schedule_policy"`
	Eviction           string  `json:"eviction"`
	CacheDisabled      bool    `json:"disable_radix_cache,omitempty"`
	PageSize           int     `json:"page_size"`
	KVTokens           int     `json:"kv_tokens"` // of each replica
	MaxRunning         int     `json:"max_running_requests"`
	MaxPrefillTokens   int     `json:"max_prefill_tokens"`
	ChunkedPrefillSize int     `json:"chunked_prefill_size"`
	// Seconds; 0 for no target and for no aging.
	LatencyTarget float64 `json:"inter_token_latency_target,omitempty"`
	Aging         float64 `json:"schedule_aging"`
	Overlap       bool    `json:"overlap_schedule"`
	Speed         float64 `json:"speed"`
	Seed          uint64  `json:"seed"`
}

type Requests struct {
	Finished int `json:"finished"`
	Refused  int `json:"refused"` // longer than the model's context
	// HeldBack entered their queue late because of Options.WaitingTokens. Policies
	// and the router see them only then.
	HeldBack int `json:"held_back"`
	// Moved were routed again: their replica was lost, or they waited when it was back.
	Moved int `json:"moved,omitempty"`
}

// Tokens of the finished requests.
type Tokens struct {
	Prompt int `json:"prompt"`
	Cached int `json:"cached"` // prompt tokens found when a request was first admitted
	Output int `json:"output"`
}

// Cache is over the prefix caches of all replicas.
type Cache struct {
	HitRatio      float64 `json:"hit_ratio"` // cached over prompt tokens
	EvictedTokens int     `json:"evicted_tokens"`
}

// Throughput is per second from the first arrival to the last token.
type Throughput struct {
	Seconds  float64 `json:"seconds"`
	Requests float64 `json:"requests_per_second"`
	Input    float64 `json:"input_tokens_per_second"` // cached ones included
	Output   float64 `json:"output_tokens_per_second"`
}

// Steps of all devices.
type Steps struct {
	Count       int     `json:"count"`
	Retractions int     `json:"retractions"`
	BusyShare   float64 `json:"busy_share"` // the mean share of time that a device computed
}

// Queue is the requests that waited and ran, over all replicas; means over time.
type Queue struct {
	MeanWaiting float64 `json:"mean_waiting"`
	MaxWaiting  int     `json:"max_waiting"`
	MeanRunning float64 `json:"mean_running"`
	MaxRunning  int     `json:"max_running"`
}

type ByReplica struct {
	Requests      int     `json:"requests"`
	PromptTokens  int     `json:"prompt_tokens"`
	OutputTokens  int     `json:"output_tokens"`
	HitRatio      float64 `json:"hit_ratio"`
	BusyShare     float64 `json:"busy_share"`
	Retractions   int     `json:"retractions"`
	EvictedTokens int     `json:"evicted_tokens"`
}

// finish checks that nothing is left over and makes the report.
func (w *world) finish() (*Report, error) {
	w.series.finish(w.now, w.state)
	r := &Report{
		Setup: w.setup(), TTFT: w.ttft.Latency(), ITL: w.itl.Latency(), E2E: w.e2e.Latency(),
		Requests: Requests{Refused: w.source.refused, HeldBack: w.heldBack, Moved: w.cluster.moved}, Series: w.series.samples, Warnings: w.warnings(),
	}
	if err := w.gatewaysSettled(); err != nil {
		return nil, err
	}
	busy, span := 0.0, w.now.Seconds()
	for _, e := range w.engines {
		if err := e.settled(); err != nil {
			return nil, err
		}
		one := e.done
		one.HitRatio, one.BusyShare = share(e.cachedTokens, one.PromptTokens), over(e.runner.busy.Seconds(), span)
		r.Replicas = append(r.Replicas, one)
		busy += e.runner.busy.Seconds()
		r.Requests.Finished += one.Requests
		r.Tokens.Prompt += one.PromptTokens
		r.Tokens.Cached += e.cachedTokens
		r.Tokens.Output += one.OutputTokens
		r.Cache.EvictedTokens += one.EvictedTokens
		r.Steps.Count += e.steps
		r.Steps.Retractions += one.Retractions
	}
	r.Cache.HitRatio = share(r.Tokens.Cached, r.Tokens.Prompt)
	r.Steps.BusyShare = over(busy, span*float64(len(w.engines)))
	r.Throughput = Throughput{
		Seconds: seconds(w.now), Requests: over(float64(r.Requests.Finished), span),
		Input: over(float64(r.Tokens.Prompt), span), Output: over(float64(r.Tokens.Output), span),
	}
	r.Queue = Queue{
		MeanWaiting: over(w.waitingArea, span), MaxWaiting: w.waitingPeak,
		MeanRunning: over(w.runningArea, span), MaxRunning: w.runningPeak,
	}
	return r, nil
}

func (w *world) setup() Setup {
	o := &w.opt
	s := Setup{
		GPU: o.GPU.Name, Model: o.Model.Name, Replicas: o.Replicas, Policy: o.Policy, Eviction: o.Eviction, CacheDisabled: o.CacheDisabled,
		PageSize: o.PageSize, KVTokens: w.pool.Tokens, MaxRunning: w.pool.MaxRunning,
		MaxPrefillTokens: o.MaxPrefillTokens, ChunkedPrefillSize: o.ChunkedPrefillSize,
		LatencyTarget: o.LatencyTarget.Seconds(), Aging: o.Aging.Seconds(), Overlap: !o.DisableOverlap, Speed: o.Speed, Seed: o.Seed,
	}
	if o.Replicas > 1 {
		s.Routing = o.Routing
	}
	if o.clustered() {
		s.Gateways, s.EventDelay, s.LoseReplica = o.Gateways, o.EventDelay.Seconds(), o.LoseReplica.Seconds()
		if o.LoseReplica > 0 {
			s.Restart = o.Restart.Seconds()
		}
	}
	return s
}

func (w *world) warnings() measure.Notes {
	all := append(measure.Notes(nil), w.pool.Warnings...)
	warned, last := 0, ""
	for _, e := range w.engines {
		if e.warning != "" {
			warned, last = warned+1, e.warning
		}
	}
	if warned > 0 && len(w.engines) > 1 {
		last = fmt.Sprintf("%d of %d engines report this, possibly with other figures: %s", warned, len(w.engines), last)
	}
	all.If(warned > 0, "%s", last)
	all.If(w.opt.LoseReplica > 0 && !w.cluster.lost, "no replica was lost: the replay ended at %s, before --lose-replica %v", Clock(w.now.Seconds()), w.opt.LoseReplica)
	s := &w.source
	lacks := s.lacks()
	all.If(lacks != "", "%s", lacks)
	if first := s.firstRefused; first != nil {
		all.If(true, "%d requests exceed the model's context of %d tokens and were refused, the first one at line %d with %d tokens",
			s.refused, w.opt.Model.Context, first.Line, first.Input+max(first.Output, 1))
	}
	// An engine that keeps up is done soon after the last arrival.
	behind := w.now - s.last
	all.If(behind > s.last/20 && behind > 2*w.e2e.Quantile(0.5) && behind > time.Minute,
		"overloaded: the last request arrived at %s, the last token came at %s; the throughput is the engines' maximum, and latencies grow with the length of the trace",
		Clock(s.last.Seconds()), Clock(w.now.Seconds()))
	return all
}

// seconds rounds to microseconds, the most that a cost model can claim.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }

func share(part, whole int) float64 { return over(float64(part), float64(whole)) }

// over is a ratio with six digits after the point.
func over(part, whole float64) float64 { return math.Round(measure.Ratio(part, whole)*1e6) / 1e6 }

// Usage is the time series for drawing.
func (r *Report) Usage() *plot.Usage {
	title := fmt.Sprintf("%s on %s, %d engines, speed %g", r.Setup.Model, r.Setup.GPU, r.Setup.Replicas, r.Setup.Speed)
	if r.Setup.Replicas == 1 {
		title = fmt.Sprintf("%s on %s, speed %g", r.Setup.Model, r.Setup.GPU, r.Setup.Speed)
	}
	u := &plot.Usage{Title: title}
	for i := range r.Series {
		u.Samples = append(u.Samples, r.Series[i].Sample)
	}
	return u
}
