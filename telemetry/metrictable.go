package telemetry

import m "github.com/troupe-engine/troupe/messages"

type kind uint8

const (
	counter kind = iota
	gauge
	probe // a gauge that is read at each exposition
	histogram
)

// row describes one metric.
type row struct {
	name    m.Metric
	kind    kind
	help    string
	buckets []float64 // of a histogram
}

// Buckets of latencies in seconds, as SGLang's dashboards expect them.
var (
	firstToken = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30}
	perToken   = []float64{.0005, .001, .002, .005, .01, .015, .02, .025, .03, .04, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	wholeCall  = []float64{.1, .2, .4, .8, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 350, 500, 1000}
	stepSize   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
)

const reloadsHelp = "Reloads of the settings by result; a refused one leaves all settings as they were."

var rows = []row{
	{m.PromptTokens, counter, "Prompt tokens of requests whose prefill completed.", nil},
	{m.GenerationTokens, counter, "Output tokens of requests, without those that were computed and discarded.", nil},
	{m.CachedTokens, counter, "Prompt tokens found in the prefix cache, counted once per request when its prefill completes.", nil},
	{m.CacheQueryTokens, counter, "Tokens looked up in the prefix cache.", nil},
	{m.CacheHitTokens, counter, "Tokens found in the prefix cache. A retracted request is looked up again, and counts again.", nil},
	{m.EvictedTokens, counter, "Tokens evicted from the prefix cache.", nil},
	{m.RequestsTotal, counter, "Requests accepted.", nil},
	{m.RequestsRefused, counter, "HTTP requests refused by the engine, for example because of a limit; one with several prompts or choices counts once.", nil},
	{m.RequestsTimedOut, counter, "Requests ended by a timeout, waiting or running.", nil},
	{m.RequestsDisplaced, counter, "Waiting requests removed from a full queue for a request of higher priority.", nil},
	{m.RequestsAborted, counter, "Requests that were aborted, or whose client disconnected.", nil},
	{m.RequestsFailed, counter, "Requests that ended with an error.", nil},
	{m.Retractions, counter, "Retractions: a running request gave up its KV pages, and is computed again later.", nil},
	{m.RequestsAged, counter, "Requests put ahead of the policy's order because they had waited longer than schedule-aging.", nil},
	{m.LateRows, counter, "Rows that got no token in a step because their grammar's mask was not ready; they get it in a later step.", nil},
	{m.ForcedTokens, counter, "Tokens that were certain by their grammar and computed together with the next one.", nil},
	{m.Steps, counter, "Steps completed by the device.", nil},
	{m.EpochsStarted, counter, "Engine starts, including recoveries.", nil},
	{m.WatchdogTimeouts, counter, "Steps that took longer than watchdog-timeout.", nil},
	{m.StaleMessages, counter, "Messages of an earlier engine start that were ignored; normal after a recovery.", nil},
	{m.UnknownMessages, counter, "Messages that reached an actor that does not handle them. Always 0; please report any other value.", nil},
	{m.KVEvents, counter, "KV events published.", nil},
	{m.KVEventGaps, counter, "Readers of KV events that did not keep up and were disconnected.", nil},
	{m.AuditsPassed, counter, "Audits of the KV pool that accounted for every page.", nil},
	{m.AuditsFailed, counter, "Audits of the KV pool that found wrong page counts. Always 0; please report any other value.", nil},
	{m.ReloadsApplied, counter, reloadsHelp, nil},
	{m.ReloadsUnchanged, counter, reloadsHelp, nil},
	{m.ReloadsRefused, counter, reloadsHelp, nil},
	{m.RequestsOpen, gauge, "Open requests, waiting or running.", nil},
	{m.RequestsWaiting, gauge, "Requests in the waiting queue.", nil},
	{m.RequestsRunning, gauge, "Running requests.", nil},
	{m.RequestsRetracted, gauge, "Retracted requests waiting to run again; not in troupe_num_queue_reqs.", nil},
	{m.TokensWaiting, gauge, "Tokens of the requests in the waiting queue: prompts, and the output from before a crash.", nil},
	{m.QueueWait, gauge, "Estimated seconds that a new request would wait for admission.", nil},
	{m.Pages, gauge, "Pages of the KV pool.", nil},
	{m.PagesFree, gauge, "Free pages.", nil},
	{m.PagesEvictable, gauge, "Pages in the prefix cache that can be evicted: no running request uses them.", nil},
	{m.PagesProtected, gauge, "Pages in the prefix cache that running requests use.", nil},
	{m.PagesLeased, gauge, "Pages private to running requests.", nil},
	{m.RadixNodes, gauge, "Nodes of the radix tree.", nil},
	{m.TokenUsage, gauge, "Share of the KV pool held by running requests, 0 to 1.", nil},
	{m.NewTokenRatio, gauge, "Share of its maximum output that a request is expected to produce, 0 to 1. Admission plans with it.", nil},
	{m.Ready, gauge, "Engines that accept requests; 0 while none does.", nil},
	{m.UsedTokens, probe, "Tokens of the KV pool used by running requests, without evictable cached ones.", nil},
	{m.MaxTotalTokens, probe, "Capacity of the KV pool in tokens.", nil},
	{m.CacheHitRate, probe, "Share of the tokens looked up in the prefix cache that were found, since the start, 0 to 1.", nil},
	{m.CacheConfig, probe, "Always 1; the labels carry the page size in tokens and the number of pages.", nil},
	{m.KVBytes, probe, "Bytes of the KV pool by state. The states other than total add up to total.", nil},
	{m.MemoryBytes, probe, "Measured device memory in bytes, by purpose.", nil},
	{m.MemoryAllocated, probe, "Device memory in bytes, the sum over all purposes.", nil},
	{m.MemoryReserved, probe, "Maximum device memory in bytes that will be needed: weights, KV pool and the workspace of the largest step.", nil},
	{m.TimeToFirstToken, histogram, "Seconds from acceptance to the first token.", firstToken},
	{m.InterTokenLatency, histogram, "Seconds between two tokens of a request.", perToken},
	{m.RequestLatency, histogram, "Seconds from the acceptance of a request to its end.", wholeCall},
	{m.QueueTime, histogram, "Seconds from acceptance to admission.", firstToken},
	{m.StepLatency, histogram, "Seconds from launch to completion of a step.", perToken},
	{m.StepTokens, histogram, "Tokens computed in a step.", stepSize},
}
