// Package load is a load generator for servers with the OpenAI API. It sends the
// requests of a work.Source, closed-loop or open-loop, and measures the answers.
//
// A Client sends one request and records when each piece of the answer arrived; a Load runs
// sessions concurrently; NewReport turns records into figures, those of the common tools:
//
//	TTFT  time to first token: from sending a request to its first text
//	TPOT  time per output token without the first: (E2E − TTFT) / (tokens − 1)
//	ITL   inter-token latency: each gap between two pieces of text
//	E2E   from sending a request to the last piece of its answer
//
// Percentiles are interpolated linearly between ranks. Every request that was sent is in
// the report: finished, failed by kind, or aborted by the end of the run.
//
// # Parts
//
//	run, conversation            sessions, closed-loop or open-loop, and their state; the messages of a session
//	client, answer               one request with its retries; its answer, event by event
//	server                       what a server is and accepts; flushing its cache; tokens of a word
//	record                       what was measured of a request, also as JSON lines
//	report, reporttext, goodput  figures of a run, also as text; latency objectives
//
// # Concurrency
//
// One goroutine per running session and one that starts them. A session owns its
// buffers while it runs; later sessions reuse them.
package load
