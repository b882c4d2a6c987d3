package load

import (
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
)

// Record is what was measured of one request. Times count from the start of
// the load.
type Record struct {
	Session, Turn int
	Due           time.Duration // when it was to be sent; only if Timed
	Timed         bool
	Sent          time.Duration
	First         time.Duration // when the first text came; only if Chunks > 0 and Streamed
	Last          time.Duration // when the last piece of the answer came, or it failed
	Streamed      bool
	Chunks        int             // pieces that brought text
	Gaps          []time.Duration // between those, one less than Chunks
	Wanted        int             // input tokens asked for, 0 where unknown
	MaxTokens     int
	Input, Output int  // tokens, by the server's count if Counted
	Cached        int  // input tokens that the server found in its cache
	Counted       bool // else Input is what was wanted and Output is Chunks
	TellsCached   bool
	Finish        string // why the answer ended, in the server's words
	Retries       int    // answers of 429 that were waited out
	Status        int    // of HTTP; 0 when no answer came
	Outcome       Outcome
	Failure       string // the kind, when Failed
	Message       string // what the server or the network said, when Failed
	Verdict       work.Verdict
}

// Outcome is how a request ended.
type Outcome uint8

// The outcomes.
const (
	Finished Outcome = iota
	Failed
	CutOff // the run was interrupted
)

// String names an outcome as reports do.
func (o Outcome) String() string {
	switch o {
	case Finished:
		return "finished"
	case Failed:
		return "failed"
	}
	return "cut off"
}

// E2E is the latency of the whole request.
func (r *Record) E2E() time.Duration { return r.Last - r.Sent }

// TTFT is the time to the first text; ok is false where none was streamed.
func (r *Record) TTFT() (d time.Duration, ok bool) {
	return r.First - r.Sent, r.Streamed && r.Chunks > 0
}

// TPOT is the time per output token without the first; ok is false without a
// second one.
func (r *Record) TPOT() (d time.Duration, ok bool) {
	ttft, ok := r.TTFT()
	if !ok || r.Output < 2 {
		return 0, false
	}
	return (r.E2E() - ttft) / time.Duration(r.Output-1), true
}
