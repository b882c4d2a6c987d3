package node

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/messages"
)

// Several engines share the weights and divide the memory; reports show the sum.
func TestSeveralEngines(t *testing.T) {
	one := open(t, settings(t), nil)
	c := settings(t)
	c.DataParallel = 2
	n := open(t, c, nil)
	if got, want := n.bytes()["weights"], one.bytes()["weights"]; got != want || got == 0 {
		t.Errorf("two engines hold %d bytes of weights, one %d", got, want)
	}
	if got, want := n.bytes()["kv"], 2*one.bytes()["kv"]; got != want {
		t.Errorf("two engines hold %d bytes of KV, want %d", got, want)
	}
	var info struct {
		Memory struct {
			Tokens int `json:"max_total_num_tokens"`
		}
		Scheduler struct {
			Size int `json:"data_parallel_size"`
		}
	}
	h := n.API().Handler()
	read := func(path string, to any) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if to != nil {
			if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
				t.Fatalf("%s: %v: %s", path, err, w.Body)
			}
		}
		return w.Body.String()
	}
	read("/server_info", &info)
	if info.Memory.Tokens != 2*n.Plan.Tokens || info.Scheduler.Size != 2 {
		t.Errorf("/server_info says %+v", info)
	}
	answers(t, h, workload()[:8])
	var tree struct {
		Engines []struct{ Engine int }
	}
	if read("/debug/cache", &tree); len(tree.Engines) != 2 {
		t.Errorf("/debug/cache shows %d engines", len(tree.Engines))
	}
	if text := read("/debug/cache?format=text", nil); !strings.Contains(text, "engine 0\n") || !strings.Contains(text, "engine 1\n") {
		t.Errorf("/debug/cache as text:\n%s", text)
	}
	if !strings.Contains(read("/metrics", nil), `troupe_ready{model_name="troupe-little"} 2`) {
		t.Error("/metrics does not count two engines as ready")
	}
	balanced(t, n)
}

// While one engine never starts again, the other serves everything.
func TestAnEngineThatIsDownHoldsNothingUp(t *testing.T) {
	c := settings(t)
	c.DataParallel = 2
	hold := make(chan struct{})
	n := open(t, c, func(spec *engine.Spec) {
		start := spec.Members[1].OnEpoch
		spec.Members[1].OnEpoch = func(e messages.Epoch) {
			<-hold
			start(e)
		}
	})
	defer close(hold)
	h := n.API().Handler()
	calls := workload()[:8]
	want := answers(t, open(t, settings(t), nil).API().Handler(), calls)
	for i, got := range answers(t, h, calls) {
		if got != want[i] {
			t.Errorf("call %d: got %s, want %s", i, got, want[i])
		}
	}
	if ready := n.Meter.Value(messages.Ready); ready != 1 {
		t.Errorf("%v engines are ready, want 1", ready)
	}
}
