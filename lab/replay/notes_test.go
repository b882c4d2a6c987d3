package replay

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/trace"
)

// crowded is a trace whose requests wait, so that policies matter.
func crowded(change func(i int, r *trace.Request)) *list {
	l := &list{}
	for i := range 40 {
		r := trace.Request{Line: i + 1, Arrival: time.Duration(i) * time.Millisecond, Input: 500 + 97*i%400, Output: 20 + 7*i%30}
		change(i, &r)
		l.requests = append(l.requests, r)
	}
	return l
}

// A policy without anything to order by in the trace is fcfs, and a note says so.
func TestPoliciesWithNothingToOrderByAreNoted(t *testing.T) {
	none := func(int, *trace.Request) {}
	for _, tt := range []struct {
		name, policy string
		change       func(int, *trace.Request)
		noted        bool
	}{
		{"no priorities", "priority", none, true},
		{"equal priorities", "priority", func(_ int, r *trace.Request) { r.Priority = 7 }, true},
		{"tenants are no priorities", "priority", func(i int, r *trace.Request) { r.Tenant = fmt.Sprint(i % 3) }, true},
		{"priorities", "priority", func(i int, r *trace.Request) { r.Priority = int32(i % 3) }, false},
		{"no tenants", "fair", none, true},
		{"one tenant", "fair", func(_ int, r *trace.Request) { r.Tenant = "a" }, true},
		{"priorities are no tenants", "fair", func(i int, r *trace.Request) { r.Priority = int32(i) }, true},
		{"tenants", "fair", func(i int, r *trace.Request) { r.Tenant = fmt.Sprint(min(i/20, 1)) }, false},
		{"a policy that needs neither", "lof", none, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := small(t)
			opt.MaxRunning = 2
			fcfs := run(t, crowded(tt.change), opt)
			opt.Policy = tt.policy
			r := run(t, crowded(tt.change), opt)
			noted := slices.ContainsFunc(r.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "--policy "+tt.policy+" works like fcfs") && strings.Contains(w, "jsonl")
			})
			if noted != tt.noted {
				t.Errorf("notes %q", r.Warnings)
			}
			r.Setup, r.Warnings = fcfs.Setup, fcfs.Warnings
			if same := reflect.DeepEqual(r, fcfs); same != tt.noted {
				t.Errorf("the same as fcfs: %v, noted: %v", same, tt.noted)
			}
		})
	}
}

// One request says nothing about a trace.
func TestOneRequestIsNotNoted(t *testing.T) {
	opt := small(t)
	opt.Policy, opt.Limit = "fair", 1
	if r := run(t, crowded(func(int, *trace.Request) {}), opt); len(r.Warnings) != 0 {
		t.Errorf("%q", r.Warnings)
	}
}
