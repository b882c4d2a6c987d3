package load

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
)

// Record is what was measured of one request. Times count from the start of the load.
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
	Wanted        int             // input tokens that were requested, 0 if unknown
	MaxTokens     int
	Input, Output int    // tokens, by the server's count if Counted
	Cached        int    // input tokens that the server found in its cache
	Counted       bool   // else Input is Wanted and Output is Chunks
	Finish        string // why the answer ended, in the server's words
	Retries       int    // answers of 429 that were waited out
	Status        int    // of HTTP; 0 when no answer came
	Outcome       Outcome
	Failure       string // the kind, when Failed
	Message       string // of the server or the network, when Failed
	Verdict       work.Verdict
}

type Outcome uint8

const (
	Finished Outcome = iota
	Failed
	CutOff // the run was interrupted
)

var outcomes = [...]string{Finished: "finished", Failed: "failed", CutOff: "cut off"}

func (r *Record) E2E() time.Duration { return r.Last - r.Sent }

// TTFT is the time to the first text; ok is false if none was streamed.
func (r *Record) TTFT() (d time.Duration, ok bool) {
	return r.First - r.Sent, r.Streamed && r.Chunks > 0
}

// TPOT is the time per output token after the first; ok is false without a second.
func (r *Record) TPOT() (d time.Duration, ok bool) {
	ttft, ok := r.TTFT()
	if !ok || r.Output < 2 {
		return 0, false
	}
	return (r.E2E() - ttft) / time.Duration(r.Output-1), true
}

// detail is a record as JSON. Times are milliseconds; sent and due count from
// the start of the load, the others from sending.
type detail struct {
	Session  int       `json:"session"`
	Turn     int       `json:"turn"`
	Outcome  string    `json:"outcome"`
	Due      *float64  `json:"due_ms,omitempty"`
	Sent     float64   `json:"sent_ms"`
	TTFT     *float64  `json:"ttft_ms,omitempty"`
	TPOT     *float64  `json:"tpot_ms,omitempty"`
	E2E      float64   `json:"e2e_ms"`
	ITL      []float64 `json:"itl_ms,omitempty"`
	Input    int       `json:"input_tokens"`
	Output   int       `json:"output_tokens"`
	Cached   int       `json:"cached_tokens,omitempty"`
	Counted  bool      `json:"counted_by_server"`
	Most     int       `json:"max_tokens"`
	Finish   string    `json:"finish_reason,omitempty"`
	Status   int       `json:"status,omitempty"`
	Retries  int       `json:"retries,omitempty"`
	Failure  string    `json:"failure,omitempty"`
	Message  string    `json:"message,omitempty"`
	Judgment string    `json:"judgment,omitempty"`
}

var judgments = map[work.Verdict]string{work.Right: "right", work.Wrong: "wrong", work.NoAnswer: "no answer"}

// WriteDetail writes every record as a line of JSON.
func WriteDetail(to io.Writer, records []Record) error {
	buffered := bufio.NewWriter(to)
	e := json.NewEncoder(buffered)
	e.SetEscapeHTML(false)
	for i := range records {
		r := &records[i]
		d := detail{
			Session: r.Session, Turn: r.Turn, Outcome: outcomes[r.Outcome], Sent: milli(r.Sent), E2E: milli(r.E2E()),
			Input: r.Input, Output: r.Output, Cached: r.Cached, Counted: r.Counted, Most: r.MaxTokens, Finish: r.Finish,
			Status: r.Status, Retries: r.Retries, Failure: r.Failure, Message: r.Message, Judgment: judgments[r.Verdict],
			Due: known(r.Due, r.Timed), TTFT: known(r.TTFT()), TPOT: known(r.TPOT()),
		}
		for _, gap := range r.Gaps {
			d.ITL = append(d.ITL, milli(gap))
		}
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// known is nil for what was not measured.
func known(d time.Duration, ok bool) *float64 {
	if !ok {
		return nil
	}
	ms := milli(d)
	return &ms
}
