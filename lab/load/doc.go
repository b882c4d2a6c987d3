// Package load is a load generator for servers of the OpenAI API: it asks what
// a work.Source says, closed-loop or open-loop, and measures what comes back.
//
// A Client asks one request and notes when each piece of the answer arrived; a
// Load runs sessions side by side; NewReport turns records into figures. The
// figures are those of the common tools:
//
//	TTFT  time to first token: from sending a request to its first text
//	TPOT  time per output token without the first: (E2E − TTFT) / (tokens − 1)
//	ITL   inter-token latency: each gap between two pieces of text
//	E2E   from sending a request to the last piece of its answer
//
// Percentiles are interpolated linearly between ranks. Every request that was
// sent is in the report: finished, failed by kind, or cut off by the end of the
// run; none is dropped in silence.
//
// # Concurrency
//
// One goroutine per running session and one that starts them. A session's
// buffers are its own while it runs and are used again by later ones.
package load
