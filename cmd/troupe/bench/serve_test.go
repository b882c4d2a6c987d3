package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

// run executes `troupe bench` in this process and returns its output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, cli.Root("test", New()), stdin, args...)
}

func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return commandline.MustRun(t, cli.Root("test", New()), stdin, args...)
}

// loadServer runs `troupe bench serve --json` and returns its report.
func loadServer(t *testing.T, url string, args ...string) *load.Report {
	t.Helper()
	out := mustRun(t, "", append([]string{"bench", "serve", "--url", url, "--json"}, args...)...)
	p := &load.Report{}
	if err := json.Unmarshal([]byte(out), p); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return p
}

const (
	someProblems = `{"question":"Tom has one cat and gets one. How many?","answer":"1+1=2\n#### 2"}
{"question":"Sue has ten cats and gives five away. How many?","answer":"10-5=5\n#### 5"}
{"question":"Ann has no cat. How many?","answer":"#### 0"}
`
	someTalks = `[{"conversations":[{"from":"human","value":"Tell me a story."},{"from":"gpt","value":"Once upon a time there was a cat."},{"from":"human","value":"More!"},{"from":"gpt","value":"The end."}]},
{"conversations":[{"from":"human","value":"Who are you?"},{"from":"gpt","value":"A story."}]}]`
	someTrace = `{"troupe_trace":1}
{"arrival_ms":0,"input":48,"output":4,"page_size":16,"pages":[1,2,3]}
{"arrival_ms":400,"input":60,"output":5,"page_size":16,"pages":[1,2,4]}
{"arrival_ms":500,"input":20,"output":0}
`
)

func TestBenchServeAsksTheRealServer(t *testing.T) {
	s := commandline.Serve(t)
	gsm8k, talks, traced := commandline.File(t, "data", someProblems), commandline.File(t, "data", someTalks), commandline.File(t, "data", someTrace+`{"arrival_ms":600,"inp`)
	for _, c := range []struct {
		name     string
		args     []string
		requests int
		output   int // tokens, exactly; 0 if answers end by themselves
		input    int // tokens, exactly; 0 if words are approximate
		work     string
	}{
		{"random", []string{"--random-input-len", "20", "--random-output-len", "6", "--num-prompts", "5", "--concurrency", "2"}, 5, 30, 100, "random: 20 input and 6 output tokens, as token ids"},
		{"random by chat", []string{"--endpoint", "chat", "--random-input-len", "20", "--random-output-len", "6", "--num-prompts", "3"}, 3, 18, 0, "as words"},
		{"not streamed", []string{"--stream=false", "--random-input-len", "20", "--random-output-len", "6", "--num-prompts", "3"}, 3, 18, 60, "random"},
		{"open loop", []string{"--rate", "50", "--burstiness", "0.5", "--random-input-len", "10", "--random-output-len", "3", "--num-prompts", "4"}, 4, 12, 40, "random"},
		{"all at once", []string{"--rate", "inf", "--random-input-len", "10", "--random-output-len", "3", "--num-prompts", "4"}, 4, 12, 40, "random"},
		{"turns", []string{"--turns", "3", "--random-input-len", "10", "--random-output-len", "4", "--num-prompts", "1"}, 3, 12, 0, "in each of 3 turns, as words"},
		{"turns without chat", []string{"--turns", "2", "--endpoint", "/v1/completions", "--random-input-len", "10", "--random-output-len", "5", "--num-prompts", "1"}, 2, 10, 0, "as words"},
		{"shared-prefix", []string{"--dataset", "shared-prefix", "--gsp-num-groups", "2", "--gsp-prompts-per-group", "2", "--gsp-system-prompt-len", "32", "--gsp-question-len", "4", "--gsp-output-len", "3", "--concurrency", "1", "--flush-cache"},
			4, 12, 4 * 36, "2 groups of 2"},
		{"gsm8k", []string{"--dataset", "gsm8k", "--dataset-path", gsm8k, "--gsm8k-num-shots", "1", "--gsm8k-output-len", "12"}, 2, 0, 0, "1 examples"},
		{"sharegpt", []string{"--dataset", "sharegpt", "--dataset-path", talks, "--turns", "2", "--sharegpt-output-len", "6"}, 3, 0, 0, "2 conversations"},
		{"trace", []string{"--dataset", "trace", "--dataset-path", traced, "--trace-format", "jsonl", "--speed", "4"}, 3, 10, 128, "at 4 times its speed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "random" { // once is enough
				c.args = append(c.args, "--warmup-requests", "0")
			}
			p := loadServer(t, s.URL, c.args...)
			if p.Requests.Sent != c.requests || p.Requests.Finished != c.requests || p.Requests.Unsent != 0 || p.Tokens.ByServer != c.requests {
				t.Fatalf("%+v, %+v", p.Requests, p.Tokens)
			}
			if c.output > 0 && p.Tokens.Output != c.output || c.input > 0 && p.Tokens.Input != c.input || p.Tokens.Output == 0 {
				t.Errorf("%+v, want %d of output and %d of input", p.Tokens, c.output, c.input)
			}
			streamed := c.name != "not streamed"
			if !strings.Contains(p.Setup.Work, c.work) || p.E2E.Count != c.requests || streamed != (p.TTFT.Count > 0) || streamed && (p.ITL.Count == 0 || p.TTFT.Max > p.E2E.Max) {
				t.Errorf("%s: TTFT %+v, ITL %+v, E2E %+v", p.Setup.Work, p.TTFT, p.ITL, p.E2E)
			}
			switch c.name {
			case "shared-prefix", "turns":
				if p.Tokens.Cached == 0 {
					t.Errorf("nothing found in the cache: %+v", p.Tokens)
				}
			case "gsm8k":
				if p.Accuracy == nil || p.Accuracy.Right+p.Accuracy.Wrong+p.Accuracy.NoAnswer != 2 {
					t.Errorf("accuracy %+v", p.Accuracy)
				}
			case "random by chat":
				// Prompts of words have about the requested length, plus the template.
				if per := p.Tokens.Input / c.requests; per < 15 || per > 60 {
					t.Errorf("prompts of %d tokens, 20 were wanted", per)
				}
			case "trace", "open loop":
				if p.SendDelay == nil || p.SendDelay.Count != c.requests {
					t.Errorf("sent late %+v", p.SendDelay)
				}
				if notes := strings.Join(p.Notes, "\n"); c.name == "trace" && !strings.Contains(notes, "line 5: the last line is incomplete") {
					t.Errorf("the notes do not tell of the cut line: %s", notes)
				}
			}
		})
	}
}

func TestBenchServePrintsTablesAndDetails(t *testing.T) {
	s := commandline.Serve(t, "--api-key", "open-sesame")
	detail := filepath.Join(t.TempDir(), "requests.jsonl")
	out := mustRun(t, "", "bench", "serve", "--url", s.URL+"/v1", "--api-key", "open-sesame", "--random-input-len", "40", "--random-output-len", "4",
		"--num-prompts", "3", "--detail", detail, "--goodput", "ttft:1h", "tpot:1h")
	for _, want := range []string{"requests     3 finished in", "TTFT", "(100.0 % of all) meet ttft:1h0m0s tpot:1h0m0s", "closed loop, 8 at once to /v1/completions", s.URL + ", model"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	lines, err := os.ReadFile(detail)
	if err != nil || bytes.Count(lines, []byte("\n")) != 3 || !bytes.Contains(lines, []byte(`"outcome":"finished"`)) {
		t.Errorf("%v\n%s", err, lines)
	}
	again, err := json.Marshal(loadServer(t, s.URL, "--api-key", "open-sesame", "--random-input-len", "40", "--random-output-len", "4", "--num-prompts", "3"))
	if err != nil || bytes.Contains(again, []byte("sesame")) || !bytes.Contains(again, []byte("from an earlier run with this seed")) {
		t.Errorf("the key is in the report, or the note on repeated seeds is not: %v\n%s", err, again)
	}
	if _, err := run(t, "", "bench", "serve", "--url", s.URL); err == nil || !strings.Contains(err.Error(), "requires an API key") {
		t.Errorf("without a key: %v", err)
	}
}

func TestBenchServeRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--dataset", "randon"}, "did you mean random?"},
		{[]string{"--random-input-len", "100000000000000"}, "--random-input-len is 100000000000000; it must be between 1 and 16777216"},
		{[]string{"--dataset", "shared-prefix", "--gsp-question-len", "0"}, "--gsp-question-len is 0; it must be between 1 and 16777216"},
		{[]string{"--dataset", "7"}, "use one of random"},
		{[]string{"--dataset", "gsm8k"}, "requires --dataset-path"},
		{[]string{"--dataset-path", "x"}, "--dataset-path is only for"},
		{[]string{"--gsp-num-groups", "3"}, "--gsp-num-groups requires --dataset shared-prefix"},
		{[]string{"--turns", "0"}, "--turns is 0"},
		{[]string{"--turns", "2", "--dataset", "trace", "--dataset-path", "x"}, "--turns is only for"},
		{[]string{"--dataset", "trace", "--dataset-path", "x", "--trace-format", "y"}, "--trace-format is"},
		{[]string{"--dataset", "trace", "--dataset-path", "x", "--trace-format", "azure", "--rate", "1"}, "--rate cannot be used with a trace"},
		{[]string{"--dataset", "trace", "--dataset-path", "x", "--trace-format", "azure", "--speed", "0"}, "--speed is 0"},
		{[]string{"--random-range-ratio", "2"}, "--random-range-ratio is"},
		{[]string{"--vocab-size", "3"}, "--vocab-size is 3"},
		{[]string{"--rate", "fast"}, "--rate is \"fast\""},
		{[]string{"--rate", "0"}, "must be above 0"},
		{[]string{"--rate", "1", "--burstiness", "x"}, "--burstiness is"},
		{[]string{"--concurrency", "-1"}, "it must be at least 0"},
		{[]string{"--goodput", "ttft"}, "is not a latency limit"},
		{[]string{"ttft:1s"}, "if it is a latency limit, give it with --goodput"},
		{[]string{"nonsense"}, `"nonsense" is not a flag`},
		{[]string{"--endpoint", "embeddings"}, "--endpoint is"},
		{[]string{"--extra-body", "[]"}, "--extra-body"},
		{[]string{"--url", "ftp://x"}, "--url: \"ftp://x\""},
		{[]string{"--detail", "/nowhere/x"}, "--detail"},
		{[]string{"--concurency", "3"}, "did you mean --concurrency?"},
		{[]string{"--url", "http://127.0.0.1:1"}, "no server is running"},
	} {
		if _, err := run(t, "", append([]string{"bench", "serve"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

// The files are opened after the first requests to the server.
func TestBenchServeNamesMissingFiles(t *testing.T) {
	s := commandline.Serve(t)
	for _, dataset := range [][]string{{"gsm8k"}, {"sharegpt"}, {"trace", "--trace-format", "azure"}} {
		args := append([]string{"bench", "serve", "--url", s.URL, "--dataset-path", "/nowhere", "--dataset"}, dataset...)
		if _, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%v: %v", dataset, err)
		}
	}
}

// An interrupt ends the run, and the results so far are printed.
func TestBenchServeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/completions" {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		if bytes.Contains(body, []byte(`"max_tokens":77`)) {
			if asked++; asked > 3 {
				cancel()
				<-r.Context().Done()
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	var out bytes.Buffer
	err := commandline.Execute(ctx, cli.Root("test", New()), "", &out, io.Discard, "bench", "serve", "--url", server.URL, "--concurrency", "1", "--random-output-len", "77")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 finished, 1 cut off", "note: interrupted: 1 requests were cut off", "the server sends no \"usage\"", "ids are below 32000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// refusing77 is a server that reports little about itself and refuses requests for
// 77 tokens; it counts them.
func refusing77(t *testing.T, status int, message string) (server *httptest.Server, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path != "/v1/completions":
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		case bytes.Contains(body, []byte(`"max_tokens":77`)):
			asked.Add(1)
			http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, message), status)
		default:
			fmt.Fprint(w, `{"choices":[{"text":"a"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func TestBenchServeFailsWhenNothingFinishes(t *testing.T) {
	server, _ := refusing77(t, http.StatusServiceUnavailable, "too busy")
	out, err := run(t, "", "bench", "serve", "--url", server.URL, "--random-output-len", "77", "--num-prompts", "2")
	if err == nil || !strings.Contains(out, "2 failed: HTTP 503 Service Unavailable: too busy") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestLoadLine(t *testing.T) {
	before := load.Reading{Finished: 3, Tokens: 100}
	now := load.Reading{Finished: 5, Failed: 1, Running: 4, Tokens: 350, TTFT: 12300 * time.Microsecond}
	if got, want := loadLine(before, now, 500*time.Millisecond, 40), "5/40 finished, 4 running, 1 failed, 500 tokens/s, TTFT p50 12.3 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := loadLine(load.Reading{}, load.Reading{}, time.Second, 0), "0 finished, 0 running, 0 tokens/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
