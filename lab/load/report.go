package load

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/measure"
)

// Report is the figures of a run. Times without a unit in their name are seconds.
type Report struct {
	Setup       Setup            `json:"setup"`
	Seconds     float64          `json:"duration_seconds"`
	Interrupted bool             `json:"interrupted"`
	Requests    Requests         `json:"requests"`
	Tokens      Tokens           `json:"tokens"`
	Throughput  Throughput       `json:"throughput"`
	Concurrency Concurrency      `json:"concurrency"`
	Goodput     *Goodput         `json:"goodput,omitempty"`
	Accuracy    *Accuracy        `json:"accuracy,omitempty"`
	TTFT        measure.Latency  `json:"ttft_ms"`
	TPOT        measure.Latency  `json:"tpot_ms"`
	ITL         measure.Latency  `json:"itl_ms"`
	E2E         measure.Latency  `json:"e2e_ms"`
	SendDelay   *measure.Latency `json:"send_delay_ms,omitempty"` // of open-loop requests: sent after they were due
	Client      ClientCost       `json:"client"`
	Notes       measure.Notes    `json:"notes,omitempty"`
}

type Setup struct {
	URL         string            `json:"url"`
	Endpoint    string            `json:"endpoint"`
	Server      *Server           `json:"server,omitempty"`
	Work        string            `json:"work"`
	Load        string            `json:"load"`
	Seed        uint64            `json:"seed"`
	Stream      bool              `json:"stream"`
	IgnoreEOS   bool              `json:"ignore_eos"`
	Warmup      int               `json:"warmup_requests"`
	Concurrency int               `json:"max_concurrency,omitempty"`
	Flags       map[string]string `json:"flags,omitempty"` // those that were given, by name

	Objectives Objectives `json:"-"`
}

type Requests struct {
	Sent     int       `json:"sent"`
	Finished int       `json:"finished"`
	Failed   int       `json:"failed"`
	CutOff   int       `json:"cut_off"`
	Unsent   int       `json:"turns_not_sent"`
	Retries  int       `json:"retries"`
	Failures []Failure `json:"failures,omitempty"` // most frequent first
}

type Failure struct {
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Example string `json:"example"` // its first message
}

// Tokens counts those of finished requests.
type Tokens struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached_input"`
	Chunks   int `json:"chunks"`                     // pieces of text that brought the output
	ByServer int `json:"requests_counted_by_server"` // with the server's own count
}

// Throughput is per second of the run, of finished requests.
type Throughput struct {
	Requests float64 `json:"requests"`
	Input    float64 `json:"input_tokens"`
	Output   float64 `json:"output_tokens"`
	Total    float64 `json:"total_tokens"`
}

type Concurrency struct {
	Mean float64 `json:"mean"` // the time that all requests ran, including failed and cut off ones, over the duration
	Peak int     `json:"peak"`
}

// Goodput is the part of the throughput that meets the objectives.
type Goodput struct {
	Objectives string  `json:"objectives"`
	Requests   int     `json:"requests"`
	PerSecond  float64 `json:"requests_per_second"`
	Share      float64 `json:"share"` // of the finished and the failed
}

type Accuracy struct {
	Share    float64 `json:"share"`
	Right    int     `json:"right"`
	Wrong    int     `json:"wrong"`
	NoAnswer int     `json:"no_answer"`
}

// ClientCost is the processor time of the load generator.
type ClientCost struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	PerToken   float64 `json:"cpu_us_per_token"` // µs per piece of text, all costs of a request included
	Cores      float64 `json:"cores"`            // processor time over time: 1 is a whole core
}

func NewReport(setup Setup, res *Result) *Report {
	p := &Report{Setup: setup, Seconds: res.Took.Seconds(), Interrupted: res.Interrupted, Concurrency: Concurrency{Peak: res.Peak}}
	p.Requests.Unsent = res.Unsent
	var ttft, tpot, itl, e2e, delay []time.Duration
	var busy time.Duration
	var good, chunks, whole, silent, short int
	var accuracy Accuracy
	var counted struct{ tokens, pieces int }
	for i := range res.Records {
		r := &res.Records[i]
		p.Requests.Sent++
		p.Requests.Retries += r.Retries
		chunks += r.Chunks
		if r.Timed {
			delay = append(delay, max(r.Sent-r.Due, 0))
		}
		busy += r.E2E()
		switch r.Outcome {
		case Failed:
			p.Requests.Failed++
			p.Requests.failed(r)
			continue
		case CutOff:
			p.Requests.CutOff++
			continue
		}
		p.Requests.Finished++
		p.Tokens.add(r)
		e2e, itl = append(e2e, r.E2E()), append(itl, r.Gaps...)
		if d, ok := r.TTFT(); ok {
			ttft = append(ttft, d)
		} else if r.Streamed {
			silent++
		}
		if d, ok := r.TPOT(); ok {
			tpot = append(tpot, d)
		}
		if setup.Stream && !r.Streamed {
			whole++
		}
		if setup.IgnoreEOS && r.Counted && r.Output < r.MaxTokens {
			short++
		}
		if r.Streamed && r.Counted {
			counted.tokens += r.Output
			counted.pieces += r.Chunks
		}
		if setup.Objectives.Met(r) {
			good++
		}
		accuracy.add(r.Verdict)
	}
	slices.SortStableFunc(p.Requests.Failures, func(a, b Failure) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
	p.TTFT, p.TPOT, p.ITL, p.E2E = latency(ttft), latency(tpot), latency(itl), latency(e2e)
	if len(delay) > 0 {
		l := latency(delay)
		p.SendDelay = &l
	}
	p.Throughput = Throughput{Requests: measure.Ratio(float64(p.Requests.Finished), p.Seconds), Input: measure.Ratio(float64(p.Tokens.Input), p.Seconds),
		Output: measure.Ratio(float64(p.Tokens.Output), p.Seconds), Total: measure.Ratio(float64(p.Tokens.Input+p.Tokens.Output), p.Seconds)}
	p.Concurrency.Mean = measure.Ratio(busy.Seconds(), p.Seconds)
	p.Client = ClientCost{CPUSeconds: res.CPU.Seconds(), PerToken: measure.Ratio(float64(res.CPU.Microseconds()), float64(chunks)), Cores: measure.Ratio(res.CPU.Seconds(), p.Seconds)}
	if setup.Objectives.Any() {
		p.Goodput = &Goodput{Objectives: setup.Objectives.String(), Requests: good, PerSecond: measure.Ratio(float64(good), p.Seconds),
			Share: measure.Ratio(float64(good), float64(p.Requests.Finished+p.Requests.Failed))}
	}
	if n := accuracy.Right + accuracy.Wrong + accuracy.NoAnswer; n > 0 {
		accuracy.Share = float64(accuracy.Right) / float64(n)
		p.Accuracy = &accuracy
	}
	p.notes(res, whole, silent, short)
	tokens, pieces := float64(counted.tokens), float64(counted.pieces)
	p.Notes.If(pieces > 0 && tokens > 1.02*pieces,
		"each streamed chunk contains %.2f tokens on average: ITL is the gap between chunks, TPOT the time per token", tokens/pieces)
	return p
}

func latency(all []time.Duration) measure.Latency { return measure.Summarise(all, time.Millisecond) }

func (t *Tokens) add(r *Record) {
	t.Input += r.Input
	t.Output += r.Output
	t.Cached += r.Cached
	t.Chunks += r.Chunks
	if r.Counted {
		t.ByServer++
	}
}

func (a *Accuracy) add(v work.Verdict) {
	switch v {
	case work.Right:
		a.Right++
	case work.Wrong:
		a.Wrong++
	case work.NoAnswer:
		a.NoAnswer++
	}
}

func (q *Requests) failed(r *Record) {
	for i := range q.Failures {
		if f := &q.Failures[i]; f.Kind == r.Failure {
			f.Count++
			return
		}
	}
	q.Failures = append(q.Failures, Failure{Kind: r.Failure, Count: 1, Example: r.Message})
}

// tooBusy is the share of the machine above which a client can distort the figures.
const tooBusy = 0.8

func (p *Report) notes(res *Result, whole, silent, short int) {
	note, finished, counted := p.Notes.If, p.Requests.Finished, p.Tokens.ByServer
	none := finished > 0 && counted == 0
	note(none && p.Setup.Stream,
		"the server sends no \"usage\": each streamed chunk counts as one output token, and prompts count with their requested length")
	note(none && !p.Setup.Stream,
		"the server sends no \"usage\": output tokens are not known, and prompts count with their requested length")
	note(counted > 0 && counted < finished,
		"%d of %d responses have no \"usage\": each of their streamed chunks counts as one output token", finished-counted, finished)
	note(whole > 0, "%d responses were not streamed, although streaming was requested: they are not in TTFT, TPOT and ITL", whole)
	note(silent > 0, "%d responses had no text: they are not in TTFT and TPOT", silent)
	note(short > 0, "%d responses are shorter than requested: the server ignored ignore_eos, or the context was full", short)
	note(p.Requests.Retries > 0, "%d requests were retried after a 429; latencies include the wait", p.Requests.Retries)
	note(p.Requests.Unsent > 0, "%d turns were not sent: an earlier turn failed, or the time was up", p.Requests.Unsent)
	if d := p.SendDelay; d != nil {
		note(d.P50 > 10, "requests were sent %.0f ms late (median): --concurrency or this machine limits the rate; raise --concurrency or use a faster client machine", d.P50)
	}
	note(p.Client.Cores > tooBusy*float64(runtime.GOMAXPROCS(0)),
		"this client used %.1f of %d cores: it may be the bottleneck, and latencies may be too high", p.Client.Cores, runtime.GOMAXPROCS(0))
	note(res.Exhausted, "--dataset has no more requests; lower --num-prompts or --duration")
	note(res.Interrupted, "interrupted: %d requests were cut off and are not in the latencies", p.Requests.CutOff)
}
