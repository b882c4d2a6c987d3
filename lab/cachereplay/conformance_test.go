package cachereplay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// each hands all requests of a trace to f.
func each(t testing.TB, path, format string, f func(*trace.Request)) {
	t.Helper()
	r, err := trace.Open(path, format)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		req, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(req)
	}
}

// The ratios equal those that somebody else's code gives, to four decimals,
// at every capacity.
func TestConformanceReferenceRatios(t *testing.T) {
	text, err := os.ReadFile(conformance.Path(t, "traces/mooncake/reference_hit_ratios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Conversation struct {
			Infinite float64                    `json:"infinite_block"`
			Caps     map[int]map[string]float64 `json:"caps"`
		} `json:"conversation"`
	}
	if err := json.Unmarshal(text, &reference); err != nil || len(reference.Conversation.Caps) != 9 {
		t.Fatalf("%d capacities, %v", len(reference.Conversation.Caps), err)
	}
	var all []*trace.Request
	future := NewFuture()
	each(t, conformance.Path(t, "traces/mooncake/conversation_trace.jsonl"), "mooncake", func(r *trace.Request) {
		all = append(all, r)
		future.Add(r)
	})
	check := func(opts Options, want float64) {
		t.Run(fmt.Sprintf("%s/%d", opts.Eviction, opts.Capacity), func(t *testing.T) {
			p, err := New(opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if err := p.Step(r); err != nil {
					t.Fatal(err)
				}
			}
			got, err := p.Result()
			if err != nil || math.Abs(got.HitRatio-want) > 0.00005 {
				t.Errorf("hit ratio %.5f, want %.5f; %v", got.HitRatio, want, err)
			}
		})
	}
	for eviction, name := range map[string]string{"lru": "lru_leaf_first", "lfu": "lfu_persistent_counts", FIFO: "fifo", Belady: "belady_block"} {
		for capacity, want := range reference.Conversation.Caps {
			check(Options{Eviction: eviction, Capacity: capacity, Future: future}, want[name])
		}
		check(Options{Eviction: eviction, Future: future}, reference.Conversation.Infinite)
	}
}

// The whole percents that the authors of the WEKA traces publish.
func TestConformanceWekaConversations(t *testing.T) {
	c, err := NewConversations()
	if err != nil {
		t.Fatal(err)
	}
	each(t, conformance.Path(t, "traces/weka_claude_code/weka_traces_710.tar.xz"), "weka", func(r *trace.Request) {
		if err := c.Step(r); err != nil {
			t.Fatal(err)
		}
	})
	s, err := c.Spread()
	if err != nil || s.Conversations != 710 {
		t.Fatalf("%+v, %v", s, err)
	}
	var got [5]int
	for i, ratio := range []float64{s.Min, s.P25, s.Median, s.P75, s.Mean} {
		got[i] = int(math.Round(ratio * 100))
	}
	if want := [5]int{61, 92, 96, 97, 93}; got != want {
		t.Errorf("min, p25, median, p75 and mean are %d %%, want %d %%: %+v", got, want, s)
	}
}
