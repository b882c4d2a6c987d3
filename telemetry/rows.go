package telemetry

import m "github.com/troupe-engine/troupe/messages"

type kind uint8

const (
	counter kind = iota
	gauge
	probe // a gauge that is read at each exposition; its labels come with it
	histogram
)

// row describes one metric.
type row struct {
	name    m.Metric
	kind    kind
	help    string
	buckets []float64 // of a histogram
}

// Buckets of latencies in seconds, those that SGLang's dashboards expect.
var (
	firstToken = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30}
	perToken   = []float64{.0005, .001, .002, .005, .01, .015, .02, .025, .03, .04, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	wholeCall  = []float64{.1, .2, .4, .8, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 350, 500, 1000}
	stepSize   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
)

const reloadsHelp = "Reloads of the settings by result; a refused one leaves all settings as they were."

var rows = []row{
	{m.PromptTokens, counter, "Prompt tokens of requests whose prefill completed.", nil},
	{m.GenerationTokens, counter, "Tokens accepted as output.", nil},
	{m.CachedTokens, counter, "Prompt tokens found in the prefix cache.", nil},
	{m.CacheQueryTokens, counter, "Tokens looked up in the prefix cache.", nil},
	{m.CacheHitTokens, counter, "Tokens found in the prefix cache, retracted requests included.", nil},
	{m.EvictedTokens, counter, "Tokens evicted from the prefix cache.", nil},
	{m.RequestsTotal, counter, "Requests accepted.", nil},
	{m.RequestsRefused, counter, "Calls refused at intake.", nil},
	{m.RequestsTimedOut, counter, "Requests that a timeout ended, waiting or running.", nil},
	{m.RequestsOusted, counter, "Waiting requests that gave way to others of a higher priority.", nil},
	{m.RequestsAborted, counter, "Requests that ended by abort or since their client went away.", nil},
	{m.RequestsFailed, counter, "Requests that ended with an error.", nil},
	{m.Retractions, counter, "Times that a running request gave up its KV for others.", nil},
	{m.RequestsAged, counter, "Requests offered ahead of the policy's order, since they had waited for longer than schedule-aging.", nil},
	{m.Steps, counter, "Steps completed by the device.", nil},
	{m.EpochsStarted, counter, "Incarnations of the engine's actors; more than 1 means it recovered.", nil},
	{m.WatchdogTimeouts, counter, "Steps that took longer than watchdog-timeout.", nil},
	{m.StaleMessages, counter, "Messages of an earlier start of the engine, ignored.", nil},
	{m.UnknownMessages, counter, "Messages that reached an actor which does not take them. Always 0; please report anything else.", nil},
	{m.KVEvents, counter, "Events of cached pages published.", nil},
	{m.KVEventGaps, counter, "Readers of KV events that did not keep up and lost their subscription.", nil},
	{m.AuditsPassed, counter, "Audits of the KV pool that balanced.", nil},
	{m.AuditsFailed, counter, "Audits of the KV pool that did not balance.", nil},
	{m.ReloadsApplied, counter, reloadsHelp, nil},
	{m.ReloadsUnchanged, counter, reloadsHelp, nil},
	{m.ReloadsRefused, counter, reloadsHelp, nil},
	{m.RequestsOpen, gauge, "Requests in intake's table.", nil},
	{m.RequestsWaiting, gauge, "Requests in the waiting queue.", nil},
	{m.RequestsRunning, gauge, "Requests that hold a row.", nil},
	{m.RequestsRetracted, gauge, "Retracted requests waiting to run again.", nil},
	{m.TokensWaiting, gauge, "Prompt tokens of requests that have no output yet.", nil},
	{m.QueueWait, gauge, "Seconds that a new request would wait for admission, as intake estimates it.", nil},
	{m.Pages, gauge, "Pages of the KV pool.", nil},
	{m.PagesFree, gauge, "Pages that nobody holds.", nil},
	{m.PagesEvictable, gauge, "Pages in the prefix cache that can be evicted: not used by a running request.", nil},
	{m.PagesProtected, gauge, "Pages in the prefix cache that running requests use.", nil},
	{m.PagesLeased, gauge, "Pages private to running requests.", nil},
	{m.RadixNodes, gauge, "Nodes of the radix tree.", nil},
	{m.TokenUsage, gauge, "Share of the pool held by running requests, 0 to 1.", nil},
	{m.NewTokenRatio, gauge, "Share of a request's longest possible output that admission expects.", nil},
	{m.Ready, gauge, "1 while an epoch stands and takes requests.", nil},
	{m.UsedTokens, probe, "Tokens of KV that running requests hold; what is cached and can be evicted is not among them.", nil},
	{m.MaxTotalTokens, probe, "Tokens of KV that the pool holds.", nil},
	{m.CacheHitRate, probe, "Share of the looked up tokens that were found in the prefix cache since the start, 0 to 1.", nil},
	{m.CacheConfig, probe, "1; the labels are the page size in tokens and the number of pages.", nil},
	{m.KVBytes, probe, "Bytes of the KV pool by state. The states other than total add up to total.", nil},
	{m.MemoryBytes, probe, "Bytes that the device holds by purpose, measured.", nil},
	{m.MemoryAllocated, probe, "Bytes that the device holds now: the sum of the purposes.", nil},
	{m.MemoryReserved, probe, "Bytes that the device will hold at most: weights, KV pool and the workspace of the biggest step.", nil},
	{m.TimeToFirstToken, histogram, "Seconds from acceptance to the first token.", firstToken},
	{m.InterTokenLatency, histogram, "Seconds between two tokens of a request.", perToken},
	{m.RequestLatency, histogram, "Seconds from acceptance to the end.", wholeCall},
	{m.QueueTime, histogram, "Seconds from acceptance until the batch former took the request from the queue.", firstToken},
	{m.StepLatency, histogram, "Seconds from launch to completion of a step.", perToken},
	{m.StepTokens, histogram, "Tokens computed in a step.", stepSize},
}
