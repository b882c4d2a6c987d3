//go:build cuda

package node

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/cudaemu/control"
)

// emulatedCUDA returns the settings for the emulated device, with more from flags, and its
// driver without faults.
func emulatedCUDA(t testing.TB, flags ...string) (*configs.Config, *control.Driver) {
	t.Helper()
	library, err := cudaemu.Build("../../../gpu/cuda/kernels", cudaemu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	driver, err := control.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	demand(t, driver, "off;memory=4GiB;multiprocessors=16;seed=1;work=late")
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	configs.AddFlags(set)
	first := []string{"--device=cuda", "--cuda-library=" + library, "--queue-timeout=0", "--max-total-tokens=8192", "--max-running-requests=64"}
	if err := set.Parse(append(first, flags...)); err != nil {
		t.Fatal(err)
	}
	c, err := configs.Load("", set)
	if err != nil {
		t.Fatal(err)
	}
	return c, driver
}

func demand(t testing.TB, driver *control.Driver, text string) {
	t.Helper()
	if err := driver.Set(text); err != nil {
		t.Fatal(err)
	}
}

// cudaWay is a way to serve the calls, which must not change an answer. Each also goes with
// each of the others: the longest request has 142 tokens, so a pool of 160 has room for it in
// pages of up to 32. A launch fails outside of graphs, since a graph that cannot be made is no
// error.
type cudaWay struct {
	name  string
	flags string
	part  int // calls of the plain test; 0: all
	mates int // short requests beside them
	rows  int // that one step must have
	// again sends the calls a second time: their prompts are cached.
	again bool
	storm func() *storm // crashes; nil: none
	gpu   string        // settings of the fake driver
	fault string        // of the driver, in the middle of a step
	// happened must be above some number in the end.
	happened map[messages.Metric]float64
}

var cudaWays = []cudaWay{
	{name: "in a batch of 64", mates: 56, rows: 64},
	{name: "one step in flight", flags: "--disable-overlap-schedule", part: 8},
	{name: "two engines on a larger GPU", flags: "--data-parallel-size=2 --max-total-tokens=4096", gpu: "multiprocessors=132;seed=7;work=eager", part: 8},
	{name: "in small chunks", flags: "--chunked-prefill-size=7 --page-size=1", part: 6},
	{name: "in chunks of a page", flags: "--chunked-prefill-size=64 --max-running-requests=5", part: 8},
	{name: "cached", flags: "--page-size=16 --kv-layout=paged", part: 9, again: true, happened: map[messages.Metric]float64{messages.CacheHitTokens: 64}},
	{name: "retracted", flags: "--page-size=1 --max-total-tokens=160 --schedule-conservativeness=0.05 --disable-radix-cache", part: 4, mates: 24, happened: map[messages.Metric]float64{messages.Retractions: 1}},
	{name: "without graphs, retracted at will", flags: "--disable-cuda-graph --debug-retract-every=3 --page-size=32", part: 8, happened: map[messages.Metric]float64{messages.Retractions: 2}},
	{name: "panics", storm: panics, part: 8},
	{name: "device errors", storm: deviceErrors, part: 8},
	{name: "a launch fails", flags: "--disable-cuda-graph", fault: "cuLaunchKernelEx:230=701", part: 4, happened: map[messages.Metric]float64{messages.EpochsStarted: 2}},
	{name: "an upload fails", fault: "cuMemcpyHtoDAsync:5=2", part: 4, happened: map[messages.Metric]float64{messages.EpochsStarted: 2}},
	{name: "a graph fails", fault: "cuGraphLaunch:3=701", part: 4, happened: map[messages.Metric]float64{messages.EpochsStarted: 2}},
	{name: "a copy fails, one step in flight", flags: "--disable-overlap-schedule", fault: "cuMemcpyDtoHAsync:3=2", part: 4, happened: map[messages.Metric]float64{messages.EpochsStarted: 2}},
}

// cudaCalls are seeded requests of every kind. Some prompts end beside the border of a page
// of 64 tokens.
func cudaCalls(n int) (calls []body) {
	r := rand.New(rand.NewPCG(14, 3))
	for i := range n {
		params := body{"temperature": []float64{0, 0.8, 1.2}[i%3], "max_new_tokens": 2 + r.IntN(4), "sampling_seed": r.IntN(1 << 30)}
		call := body{"sampling_params": params}
		if i%4 == 1 {
			ids := make([]int32, []int{63, 64, 65, 1, 62, 130}[i/4%6])
			for j := range ids {
				ids[j] = r.Int32N(1200)
			}
			call["input_ids"] = ids
		} else {
			stem := []string{"Once upon a time there was a little fox. ", "The old man had a boat. "}[i%2]
			call["text"] = stem[:1+r.IntN(len(stem)-1)] + strings.Repeat(" and then", r.IntN(3))
		}
		switch i % 8 {
		case 0:
			params["n"] = 2
		case 1:
			params["stop"], params["max_new_tokens"] = []string{"the", ". ", "e"}, 12
		case 4:
			params["min_new_tokens"] = 2
		default:
			vary(i%8, call, params)
		}
		calls = append(calls, call)
	}
	return calls
}

// TestCUDAAnswersDependOnTheRequestOnly compares the answers of the embedded model on the
// emulated device, byte for byte, with those that each request gets alone. With
// TROUPE_SOAK=1 there are 200 requests, and every two ways are also taken together.
func TestCUDAAnswersDependOnTheRequestOnly(t *testing.T) {
	calls := cudaCalls(24)
	if soak {
		calls = cudaCalls(200)
	}
	var want []string
	t.Run("alone", func(t *testing.T) {
		c, _ := emulatedCUDA(t, "--disable-radix-cache")
		h := open(t, c, nil).API().Handler()
		for _, call := range calls {
			text, _, err := answer(h, call)
			if err != nil {
				t.Fatalf("call %v: %v", call, err)
			}
			want = append(want, text)
		}
	})
	first := 0
	if t.Failed() {
		return
	}
	for _, w := range cudaWays {
		part := w.part
		if soak || part == 0 {
			part = len(calls)
		}
		t.Run(w.name, func(t *testing.T) { w.check(t, calls, want, first, part) })
		first += part
	}
	if !soak {
		return
	}
	for i, a := range cudaWays {
		for _, b := range cudaWays[:i] {
			if (a.storm != nil || a.fault != "") && (b.storm != nil || b.fault != "") {
				continue // a request may end that crashes the engine twice
			}
			w := a.with(b)
			t.Run(w.name, func(t *testing.T) { w.check(t, calls, want, first, 24) })
			first += 24
		}
	}
}

// with joins two ways. What must happen may not when they meet.
func (w cudaWay) with(b cudaWay) cudaWay {
	w.name, w.flags, w.mates, w.again = w.name+", "+b.name, b.flags+" "+w.flags, max(w.mates, b.mates), w.again || b.again
	w.gpu = cmp.Or(w.gpu, b.gpu)
	w.fault = cmp.Or(w.fault, b.fault)
	w.rows, w.happened = 0, nil
	if w.storm == nil {
		w.storm = b.storm
	}
	return w
}

// check sends some of the calls at once, from the first on, and compares the answers.
func (w cudaWay) check(t *testing.T, calls []body, want []string, first, n int) {
	c, driver := emulatedCUDA(t, strings.Fields(w.flags)...)
	demand(t, driver, w.gpu)
	crashes, seen := &storm{}, &largest{}
	if w.storm != nil {
		crashes = w.storm()
	}
	node := open(t, c, func(spec *engine.Spec) {
		crashes.into(spec)
		strike := spec.Intercept
		spec.Intercept = func(role messages.Actor, msg any) {
			seen.watch(role, msg)
			strike(role, msg)
		}
	})
	if w.fault != "" {
		demand(t, driver, w.fault)
		t.Cleanup(func() { demand(t, driver, "off") })
	}
	var part []int
	var sent []body
	for i := range n {
		part = append(part, (first+i)%len(calls))
		sent = append(sent, calls[part[i]])
	}
	for i := range w.mates {
		sent = append(sent, body{"input_ids": []int{20 + i, 21 + i}, "sampling_params": body{"max_new_tokens": 9, "ignore_eos": true, "temperature": i % 2, "sampling_seed": i}})
	}
	h := node.API().Handler()
	for pass := range 2 {
		if pass == 1 && !w.again {
			break
		}
		for i, got := range answers(t, h, sent)[:n] {
			if got != want[part[i]] {
				t.Errorf("call %d, %v:\ngot  %s\nwant %s", part[i], sent[i], got, want[part[i]])
			}
		}
	}
	balanced(t, node)
	values := node.Meter.Values()
	for m, least := range w.happened {
		if values[string(m)] < least {
			t.Errorf("%s is %v, want at least %v", m, values[string(m)], least)
		}
	}
	if w.storm != nil && crashes.crashes == 0 {
		t.Error("nothing crashed")
	}
	if seen.rows < w.rows {
		t.Errorf("steps have up to %d rows, want %d", seen.rows, w.rows)
	}
	if err := driver.Check(); err != nil {
		t.Error(err)
	}
	t.Log(fmt.Sprint(seen.rows, " rows, ", seen.tokens, " tokens, ", crashes.crashes, " crashes, ", values[string(messages.EpochsStarted)], " epochs, ",
		values[string(messages.Retractions)], " retractions, ", values[string(messages.CacheHitTokens)], " tokens cached"))
}
