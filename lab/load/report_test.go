package load

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// sample is a run with every kind of end.
func sample() (Setup, *Result) {
	gaps := func(n int, d time.Duration) []time.Duration {
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = d
		}
		return all
	}
	records := []Record{
		{Session: 0, Timed: true, Sent: 0, First: 100 * msec, Last: 400 * msec, Streamed: true, Chunks: 4, Gaps: gaps(3, 100*msec), Input: 1000, Output: 7, Cached: 512, Counted: true, Finish: "length", Status: 200, MaxTokens: 7, Verdict: work.Right},
		{Session: 1, Timed: true, Due: 100 * msec, Sent: 150 * msec, First: 200 * msec, Last: 1350 * msec, Streamed: true, Chunks: 2, Gaps: gaps(1, 1150*msec), Wanted: 900, Input: 900, Output: 2, Finish: "stop", Status: 200, MaxTokens: 7, Retries: 1, Verdict: work.Wrong},
		{Session: 2, Timed: true, Due: 200 * msec, Sent: 200 * msec, Last: 210 * msec, Status: 429, MaxTokens: 7, Outcome: Failed, Failure: "HTTP 429 Too Many Requests", Message: "busy\nnow"},
		{Session: 3, Timed: true, Due: 300 * msec, Sent: 310 * msec, Last: 320 * msec, Status: 429, MaxTokens: 7, Outcome: Failed, Failure: "HTTP 429 Too Many Requests", Message: "busy, too"},
		{Session: 4, Timed: true, Due: 400 * msec, Sent: 400 * msec, Last: 401 * msec, MaxTokens: 7, Outcome: Failed, Failure: "connection refused", Message: "dial"},
		{Session: 5, Timed: true, Due: 500 * msec, Sent: 500 * msec, Last: 2000 * msec, Streamed: true, MaxTokens: 7, Outcome: CutOff},
		{Session: 6, Timed: true, Due: 600 * msec, Sent: 600 * msec, Last: 900 * msec, Chunks: 1, Input: 1000, Output: 9, Counted: true, Status: 200, MaxTokens: 12, Verdict: work.NoAnswer},
	}
	setup := Setup{
		URL: "http://127.0.0.1:30000", Endpoint: "/v1/completions", Server: &Server{Model: "tiny", OwnedBy: "troupe", Vocab: 1280, IDs: true, IgnoreEOS: true, Usage: true},
		Work: "random: 1000 input and 7 output tokens, as token ids from 259 to 1259", Load: "open loop, 10 requests/s, burstiness 1", Seed: 7, Stream: true, IgnoreEOS: true,
		Warmup: 1, Flags: map[string]string{"rate": "10"}, Objectives: Objectives{TTFT: 100 * msec, E2E: time.Second},
	}
	return setup, &Result{Records: records, Took: 2 * time.Second, Peak: 4, Unsent: 3, Interrupted: true, CPU: 700 * time.Microsecond}
}

func TestReportAsText(t *testing.T) {
	var out bytes.Buffer
	if err := NewReport(sample()).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "report.txt", out.String())
}

func TestReportAsJSON(t *testing.T) {
	out, err := json.MarshalIndent(NewReport(sample()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "report.json", string(out)+"\n")
}

func TestDetail(t *testing.T) {
	_, res := sample()
	var out bytes.Buffer
	if err := WriteDetail(&out, res.Records); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "detail.jsonl", out.String())
}

func TestReportOfNothing(t *testing.T) {
	var out bytes.Buffer
	p := NewReport(Setup{Stream: true}, &Result{})
	if err := p.WriteText(&out); err != nil || p.Throughput != (Throughput{}) || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAClientThatIsTooBusySaysSo(t *testing.T) {
	setup, res := sample()
	res.CPU = 1000 * time.Second
	found := false
	for _, note := range NewReport(setup, res).Notes {
		found = found || strings.Contains(note, "bottleneck")
	}
	if !found {
		t.Error("500 cores used, and no note")
	}
}

// Every request that was sent is in one of the counts.
func TestNothingIsDropped(t *testing.T) {
	p := NewReport(sample())
	byKind := 0
	for _, f := range p.Requests.Failures {
		byKind += f.Count
	}
	if q := p.Requests; q.Sent != 7 || q.Finished+q.Failed+q.CutOff != q.Sent || byKind != q.Failed || p.E2E.Count != q.Finished {
		t.Errorf("%+v", q)
	}
}
