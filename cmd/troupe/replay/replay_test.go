package replay

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/commandline"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// Three requests of blocks [1 2 3], [1 4] and [1 2 3] with a capacity of two.
const smallTrace = `{"timestamp": 0, "input_length": 1500, "output_length": 1, "hash_ids": [1, 2, 3]}
{"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1, 4]}
{"timestamp": 2, "input_length": 1500, "output_length": 1, "hash_ids": [1, 2, 3]}
`

// run executes `troupe replay` in this process and returns its output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, cli.Root("test", New()), stdin, args...)
}

func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return commandline.MustRun(t, cli.Root("test", New()), stdin, args...)
}

func TestReplayCacheOnly(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	out := mustRun(t, "", "replay", "--trace", path, "--format", "mooncake", "--cache-only", "--capacity", "2,0,2", "--compare", "--eviction", "fifo", "--json")
	var answer struct {
		Results []struct {
			Eviction  string   `json:"eviction"`
			Capacity  int      `json:"capacity_blocks"`
			Hits      int      `json:"hit_blocks"`
			Blocks    int      `json:"blocks"`
			Evicted   int      `json:"evicted_blocks"`
			Oversized int      `json:"oversized_requests"`
			GapClosed *float64 `json:"gap_closed"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Results) != 6 {
		t.Fatalf("%d results, %v:\n%s", len(answer.Results), err, out)
	}
	// lru: 1 2 stay; 1 hits, 1 4 stay; 1 hits. fifo: 1 2 stay, 1 came last;
	// 1 hits, 2 goes for 4; 1 hits. belady: 1 2 stay; 1 hits, 4 goes again; 1 2 hit.
	want := []struct {
		eviction                string
		capacity, hits, evicted int
	}{{"lru", 2, 2, 4}, {"fifo", 2, 2, 4}, {"belady", 2, 3, 3}, {"lru", 0, 4, 0}, {"fifo", 0, 4, 0}, {"belady", 0, 4, 0}}
	for i, w := range want {
		if r := answer.Results[i]; r.Eviction != w.eviction || r.Capacity != w.capacity || r.Hits != w.hits || r.Blocks != 8 || r.Evicted != w.evicted {
			t.Errorf("%d: %+v, want %+v", i, r, w)
		}
	}
	if gap := answer.Results[1].GapClosed; gap == nil || *gap != 0 || answer.Results[0].GapClosed != nil || answer.Results[4].GapClosed != nil {
		t.Errorf("shares of the gap: %s", out)
	}
	text := mustRun(t, "", "replay", "--trace", path, "--format", "mooncake", "--cache-only", "--capacity", "2")
	if !strings.Contains(text, "0.25000") || !strings.Contains(text, "note: 2 of 3 requests are larger than the capacity of 2 blocks (the first on line 1)") {
		t.Errorf("table:\n%s", text)
	}
}

func TestReplayRefuses(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--trace is missing; give the file of the trace"},
		{[]string{"--trace", path}, "--format is missing; use one of azure, jsonl, mooncake, weka"},
		{[]string{"--trace", path, "--format", "mooncak"}, "did you mean mooncake?"},
		{[]string{"--trace", path, "--format", "parquet"}, `--format: trace format "parquet" is not known; use one of azure,`},
		{[]string{"--trace", path + "x", "--format", "mooncake"}, "does not exist"},
		{[]string{"--trace", path, "--format", "mooncake", "--capacity", "-1"}, "--capacity is -1"},
		{[]string{"--trace", path, "--format", "mooncake", "--capacity", "ten"}, "--capacity"},
		{[]string{"--trace", path, "--format", "mooncake", "--capacity", "1"}, "--capacity 1 is too small: the smallest request, on line 2, has 2 blocks; use at least 2"},
		{[]string{"--trace", path, "--format", "mooncake", "--eviction", "lrru"}, `--eviction: "lrru" is not known; use one of belady,`},
		{[]string{"--trace", path, "--format", "mooncake", "--eviction-history", "0"}, "--eviction-history is 0"},
		{[]string{"--trace", path, "--format", "mooncake", "--index", "heap"}, `index "heap" is not known`},
		{[]string{"--trace", path, "--format", "mooncake", "--eviction", "belady", "--index", "tree"}, "--eviction belady requires --index auto or blocks"},
		{[]string{"--trace", path, "--format", "mooncake", "--by-conversation"}, "--by-conversation: the trace has no conversations"},
		{[]string{"--trace", path, "--format", "azure"}, "small.jsonl: line 1: the header is"},
		{[]string{"--trace", path, "--format", "weka", "--conversation-gap", "-1s"}, "--conversation-gap is -1s"},
		{[]string{"--trace", commandline.File(t, "small.jsonl", smallTrace+"{"), "--format", "mooncake"}, "small.jsonl: line 4: not valid JSON"},
	} {
		args := append([]string{"replay", "--cache-only"}, c.args...)
		if _, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

// A recording that a crash cut off is replayed without its last line, with one warning
// beside the JSON.
func TestReplayOfACutRecording(t *testing.T) {
	path := commandline.File(t, "cut.jsonl", `{"troupe_trace":1}`+"\n"+`{"arrival_ms":0,"input":40,"output":1,"page_size":16,"pages":[1,2]}`+"\n"+
		`{"arrival_ms":9,"input":40,"output":1,"page_size":16,"pages":[1,2]}`+"\n"+`{"arrival_ms":12,"inpu`)
	const warning = "cut.jsonl: line 4: the last line is incomplete (22 bytes)"
	for _, args := range [][]string{{"--cache-only", "--compare"}, {"--page-size", "16", "--kv-tokens", "4096"}} {
		var out, stderr bytes.Buffer
		args = append([]string{"replay", "--trace", path, "--format", "jsonl", "--json"}, args...)
		if err := commandline.Execute(t.Context(), cli.Root("test", New()), "", &out, &stderr, args...); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if strings.Count(stderr.String(), warning) != 1 || !strings.Contains(stderr.String(), "troupe: warning: ") {
			t.Errorf("%v: stderr is %q", args, stderr.String())
		}
		if !json.Valid(out.Bytes()) || !strings.Contains(out.String(), `"requests": 2`) {
			t.Errorf("%v: %s", args, out.String())
		}
	}
}

// The command line prints the same figures as an independent implementation.
func TestConformanceReplay(t *testing.T) {
	dir := conformance.Path(t, "traces")
	out := mustRun(t, "", "replay", "--trace", filepath.Join(dir, "mooncake/conversation_trace.jsonl"), "--format", "mooncake",
		"--cache-only", "--capacity", "195,5859", "--eviction", "lru,lfu,fifo,belady", "--json")
	var answer struct {
		Results []struct {
			Ratio float64 `json:"hit_ratio"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	want := []float64{0.04189, 0.05349, 0.03806, 0.08972, 0.13608, 0.15183, 0.125, 0.35315}
	if len(answer.Results) != len(want) {
		t.Fatalf("%d results", len(answer.Results))
	}
	for i, w := range want {
		if got := answer.Results[i].Ratio; math.Abs(got-w) > 0.00005 {
			t.Errorf("result %d: %.5f, want %.5f", i, got, w)
		}
	}
}

// A trace that can be read only once is refused before it is read: the second reading
// would block forever.
func TestBeladyNeedsAFile(t *testing.T) {
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Skip("this system has no device to stand for a pipe")
	}
	_, err := run(t, "", "replay", "--trace", os.DevNull, "--format", "mooncake", "--cache-only", "--eviction", "belady")
	if err == nil || !strings.Contains(err.Error(), "read twice") {
		t.Errorf("a trace that is no file: %v", err)
	}
}
