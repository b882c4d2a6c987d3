package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/commandline"
)

// Each number of gateways and each delay is a row, after the one of one gateway without
// delay, which is not replayed twice.
func TestReplayComparesGateways(t *testing.T) {
	path := commandline.File(t, "slow.jsonl", strings.NewReplacer(": 1,", ": 1000,", ": 2,", ": 2000,").Replace(smallTrace))
	args := []string{"replay", "--trace", path, "--format", "mooncake", "--replicas", "2", "--gateways", "1,2,2", "--event-delay", "0,10ms"}
	out := mustRun(t, "", append(args, "--json")...)
	if again := mustRun(t, "", append(args, "--json")...); again != out {
		t.Error("two comparisons print different results")
	}
	var answer struct {
		Results []struct {
			Setup struct {
				Gateways   int
				EventDelay float64 `json:"event_delay"`
			}
			Requests struct{ Finished int }
			Hits     float64 `json:"hit_ratio_to_one"`
			TTFT     float64 `json:"ttft_p99_to_one"`
			Series   []any
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Results) != 4 {
		t.Fatalf("%d results, %v:\n%s", len(answer.Results), err, out)
	}
	for i, want := range []struct {
		gateways int
		delay    float64
	}{{0, 0}, {1, 0.01}, {2, 0}, {2, 0.01}} { // the first one in one process with the engines
		r := answer.Results[i]
		if r.Setup.Gateways != want.gateways || r.Setup.EventDelay != want.delay || r.Requests.Finished != 3 || r.Hits <= 0 || r.TTFT <= 0 || r.Series != nil {
			t.Errorf("result %d: %+v, want %+v", i, r, want)
		}
	}
	if one := answer.Results[0]; one.Hits != 1 || one.TTFT != 1 {
		t.Errorf("one gateway compared with itself: %+v", one)
	}
	text := mustRun(t, "", args...)
	for _, want := range []string{"2 engines, cache-aware routing, 3 requests", "gateways  event delay  hit ratio", "100.0 %", "10ms", "simulated in"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "moved") {
		t.Errorf("no request is moved:\n%s", text)
	}
}

// The same trace, and a replica lost at the second request's time.
func TestReplayLosesAReplica(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	args := []string{"replay", "--trace", path, "--format", "mooncake", "--replicas", "2", "--lose-replica", "1ms", "--replica-restart", "2s"}
	if text := mustRun(t, "", args...); !strings.Contains(text, "3 finished, 1 moved to another engine") {
		t.Errorf("the summary:\n%s", text)
	}
	if text := mustRun(t, "", append(args, "--gateways", "1,2")...); !strings.Contains(text, "moved") {
		t.Errorf("the table:\n%s", text)
	}
	args[len(args)-3] = "1h"
	if text := mustRun(t, "", args...); !strings.Contains(text, "note: no replica was lost") {
		t.Errorf("the summary:\n%s", text)
	}
}

func TestReplayGatewaysRefuses(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--gateways", "0"}, "--gateways is 0; it must be between 1 and 64"},
		{[]string{"--gateways", "1,100"}, "--gateways is 100; it must be between 1 and 64"},
		{[]string{"--gateways", "two"}, "--gateways"},
		{[]string{"--gateways", ""}, "--gateways is \"\""},
		{[]string{"--event-delay", ""}, "--event-delay"},
		{[]string{"--event-delay", "-1s"}, "--event-delay is -1s; it must be at least 0"},
		{[]string{"--event-delay", "1,2"}, "--event-delay"},
		{[]string{"--lose-replica", "1s", "--replicas", "1"}, "--lose-replica 1s requires --replicas of at least 2"},
		{[]string{"--replica-restart", "-1s"}, "--replica-restart is -1s"},
		{[]string{"--gateways", "1,2", "--plot", "out.svg"}, "--plot draws one replay"},
		{[]string{"--gateways", "2", "--cache-only"}, "--gateways has no effect with --cache-only"},
	} {
		args := append([]string{"replay", "--trace", path, "--format", "mooncake", "--replicas", "2"}, c.args...)
		if c.args[len(c.args)-1] == "--cache-only" {
			args = append(args[:5], c.args...)
		}
		if _, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}
