package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/queue"
)

// factors are what an answer must not depend on. A level that sets nothing is
// the default. Settings that need each other are one factor.
var factors = []factor{
	{"running", each("max-running-requests=1", "max-running-requests=4", "max-running-requests=64")},
	{"page", each("page-size=16", "page-size=1", "page-size=32", "page-size=64")},
	{"chunks", [][]string{
		{"chunked-prefill-size=-1"}, {"chunked-prefill-size=" + smallest}, {"chunked-prefill-size=71"},
		{"chunked-prefill-size=" + smallest, "inter-token-latency-target=1us"},
		{"chunked-prefill-size=71", "inter-token-latency-target=1ns"}, {"inter-token-latency-target=1h"},
	}},
	{"budget", each("", "max-prefill-tokens=73")},
	{"cache", each("disable-radix-cache=true", "disable-radix-cache=false")},
	{"pool", each("max-total-tokens=4096", "max-total-tokens=72")},
	{"retract", each("debug-retract-every=0", "debug-retract-every=3")},
	{"threads", each("threads=1", "threads=2")},
	{"engines", [][]string{
		{"data-parallel-size=1"}, {"data-parallel-size=2"}, {"data-parallel-size=3", "load-balance-method=round-robin"},
		{"data-parallel-size=2", "load-balance-method=least-loaded"}, {"data-parallel-size=2", "load-balance-method=random"},
	}},
	{"cluster", [][]string{nil, {"cluster-role=both", "cluster-listen=127.0.0.1:0"}}},
	{"overlap", each("disable-overlap-schedule=true", "disable-overlap-schedule=false")},
	{"layout", each("kv-layout=contiguous", "kv-layout=paged")},
	{"contiguous", each("contiguous-kv=false", "contiguous-kv=true")},
	{"ratio", each("schedule-conservativeness=1", "schedule-conservativeness=0.05", "schedule-conservativeness=3")},
	{"aging", each("schedule-aging=1m", "schedule-aging=1ms", "schedule-aging=0s")},
	{"events", [][]string{{"kv-events=false"}, {"kv-events=true", "kv-events-buffer=16"}}},
	{"audit", each("debug-audit-every-step=false", "debug-audit-every-step=true")},
	{"watchdog", each("watchdog-timeout=5m", "watchdog-timeout=0s")},
	{"faults", [][]string{nil, nil, nil}}, // none, panics of every actor, device errors
	{"runs", [][]string{nil, nil}},        // certain tokens in runs, or one by one
	{"policy", schedules()},
	{"eviction", evictions()},
}

var faultsFactor, runsFactor, poolFactor = named("faults"), named("runs"), named("pool")

func named(name string) int {
	return slices.IndexFunc(factors, func(f factor) bool { return f.name == name })
}

// smallest means the smallest chunk that page-size allows; for page size 1 a prime.
const smallest = "smallest"

func each(settings ...string) (list [][]string) {
	for _, l := range settings {
		list = append(list, strings.Fields(l))
	}
	return list
}

// schedules are all policies of the queue, with other settings that they need.
func schedules() (list [][]string) {
	for _, p := range queue.Policies() {
		list = append(list, []string{"schedule-policy=" + p})
	}
	return append(list,
		[]string{"schedule-policy=random", "schedule-seed=7"},
		[]string{"schedule-policy=fair", "fair-input-weight=0.5", "fair-output-weight=30"},
		[]string{"schedule-policy=priority", "enable-priority-preemption=true", "priority-scheduling-preemption-threshold=0"},
		[]string{"schedule-policy=priority", "enable-priority-preemption=true", "schedule-low-priority-values-first=true"},
	)
}

func evictions() (list [][]string) {
	for _, p := range policies.Names() {
		list = append(list, []string{"radix-eviction-policy=" + p})
	}
	return list
}

// notVaried are the settings without a factor, with the reason.
var notVaried = map[string][]string{
	"says what is served, not how":                                                                                         {"model", "model-aliases", "served-model-name", "load-format", "chat-template", "tool-call-parser", "reasoning-parser", "sampling-defaults", "special-tokens-in-messages"},
	"part of the numerics fingerprint, within which answers are equal":                                                     {"device", "instruction-set", "activation-dtype", "weight-dtype", "kv-cache-dtype"},
	"a bound of the request itself: its end depends on it":                                                                 {"context-length"},
	"sizes the pool by the machine's memory; max-total-tokens varies the size":                                             {"mem-fraction-static"},
	"refuses or ends requests and does not touch the others (testkit/clients)":                                             {"max-open-requests", "max-queued-tokens", "max-queued-requests", "queue-timeout", "request-timeout"},
	"says whose a request is, by user or key; users are drawn in every combination":                                        {"tenant-from"},
	"says whose cached prefixes a request finds where there are several keys; the cache is on and off in the combinations": {"share-prefix-cache"},
	"of the HTTP server, before a request is one": {"host", "port", "admin-address", "api-key", "admin-api-key", "api-keys-file", "unknown-fields", "tls-cert", "tls-key", "allowed-hosts", "cors-origins", "max-body-bytes", "header-timeout",
		"write-stall-timeout", "health-timeout", "drain-timeout"},
	"says where the driver of a GPU is":                         {"cuda-library"},
	"of a GPU; gpu/cuda compares steps with and without graphs": {"disable-cuda-graph"},
	"writes down what happens":                                  {"record-trace", "log-level", "log-format"},
	"says how nodes of a cluster find and trust each other": {"cluster-name", "node-name", "cluster-advertise", "cluster-join", "cluster-tls-ca", "cluster-tls-cert", "cluster-tls-key",
		"cluster-insecure", "cluster-peer-timeout", "cluster-resume-wait"},
	"for tests of clusters": {"debug-step-time", "debug-chaos", "debug-kill-token"},
}

// String names a combination by its differences from the simplest one.
func (c combination) String() string {
	text := ""
	for i, level := range c {
		if level > 0 {
			text += fmt.Sprintf(" %s=%d", factors[i].name, level)
		}
	}
	return text[min(1, len(text)):]
}

// settings loads a combination from flags, as a user would.
func (c combination) settings(t testing.TB) *configs.Config {
	t.Helper()
	set := map[string]string{}
	for i, level := range c {
		for _, s := range factors[i].levels[level] {
			key, value, _ := strings.Cut(s, "=")
			set[key] = value
		}
	}
	if set["chunked-prefill-size"] == smallest {
		if set["chunked-prefill-size"] = set["page-size"]; set["page-size"] == "1" {
			set["chunked-prefill-size"] = "7"
		}
	}
	args := []string{"--queue-timeout=0"} // the machine may be slow
	for key, value := range set {
		args = append(args, "--"+key+"="+value)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	configs.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	s, err := configs.Load("", flags)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return s
}

// Every setting is varied in the combinations of the plain test, or has a reason not to
// be. A new setting needs a decision here.
func TestEverySettingIsVariedOrHasAReason(t *testing.T) {
	values := map[string]map[string]bool{}
	for _, c := range pairwise(factors) {
		for _, v := range c.settings(t).Values() {
			if values[v.Key] == nil {
				values[v.Key] = map[string]bool{}
			}
			values[v.Key][fmt.Sprint(v.Value)] = true
		}
	}
	reasons := map[string]string{}
	for reason, keys := range notVaried {
		for _, key := range keys {
			if values[key] == nil {
				t.Errorf("%s has a reason but is not a setting", key)
			}
			reasons[key] = reason
		}
	}
	for key, seen := range values {
		switch reason, ok := reasons[key]; {
		case len(seen) < 2 && !ok:
			t.Errorf("no answer is known to be the same whatever %s is: add levels to factors, or a reason to notVaried", key)
		case len(seen) > 1 && ok:
			t.Errorf("%s is varied, but has a reason not to be: %s", key, reason)
		}
	}
}
