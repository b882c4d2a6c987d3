package load

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
)

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
			Session: r.Session, Turn: r.Turn, Outcome: r.Outcome.String(), Sent: milli(r.Sent), E2E: milli(r.E2E()),
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
