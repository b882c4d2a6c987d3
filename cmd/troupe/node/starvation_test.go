package node

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// The scene: requests that decode, then long prompts, then a short one after them. Their
// lengths in tokens distinguish the three.
const (
	decoders, decoderPrompt = 32, 3
	longPrompts, longPrompt = 8, 4096
	shortPrompt             = 50
	chunk                   = 128 // chunked-prefill-size
)

// alone: nothing else runs on this machine, so real time can be measured.
var alone = os.Getenv("TROUPE_ALONE") == "1"

// layers makes steps take milliseconds if time is measured; the path to the client takes
// tenths of one.
func layers() int {
	if alone {
		return 12
	}
	return 1
}

// dummyModel is a directory with a small model of random weights with a context for the
// long prompts; its tokenizer is the embedded one.
func dummyModel(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	files, err := fs.ReadDir(bundled.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		data, err := fs.ReadFile(bundled.FS(), f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() == "config.json" {
			config := map[string]any{}
			if err := json.Unmarshal(data, &config); err != nil {
				t.Fatal(err)
			}
			for key, value := range map[string]any{"max_position_embeddings": 5120, "num_hidden_layers": layers(), "hidden_size": 32, "intermediate_size": 64,
				"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16} {
				config[key] = value
			}
			if data, err = json.Marshal(config); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stepSeen describes a step.
type stepSeen struct {
	decoding int           // decoding rows of the scene
	prompts  int           // tokens of prompts
	short    bool          // it computes the short prompt's first token
	took     time.Duration // on the device
}

// watcher is an executor that records every step.
type watcher struct {
	runner.Executor
	mu      sync.Mutex
	prompt  map[messages.Row]int // length
	steps   []stepSeen
	arrived int // steps launched when the short prompt reached the queue
	beside  int // steps with prompts beside all decoding rows
	most    int // of them; then the scene ends
	// half is called after half of them; enough is closed at the end.
	half   func()
	enough chan struct{}
}

func (w *watcher) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	var s stepSeen
	w.mu.Lock()
	for _, o := range b.Opened {
		w.prompt[o.Row] = len(o.Request.Prompt)
	}
	for _, r := range b.Work {
		switch n := w.prompt[r.Row]; {
		case n == decoderPrompt && r.Start >= n:
			s.decoding++
		case r.Start < n:
			s.prompts += r.Count
			s.short = s.short || n == shortPrompt && r.Sample > 0
		}
	}
	if w.beside == w.most { // the scene is over, its requests are aborted
		w.mu.Unlock()
		w.Executor.Submit(b, done)
		return
	}
	at := len(w.steps)
	w.steps = append(w.steps, s)
	half := false
	if s.prompts > 0 && s.decoding == decoders {
		w.beside++
		half = w.beside == w.most/2
		if w.beside == w.most {
			close(w.enough)
		}
	}
	w.mu.Unlock()
	if half {
		w.half()
	}
	start := time.Now()
	w.Executor.Submit(b, func(d *messages.BatchDone, err error) {
		w.mu.Lock()
		w.steps[at].took = time.Since(start)
		w.mu.Unlock()
		done(d, err)
	})
}

func (w *watcher) intercept(_ messages.Actor, msg any) {
	if m, ok := msg.(*messages.EnqueueRequests); ok && len(m.Requests[0].Prompt) == shortPrompt {
		w.mu.Lock()
		w.arrived = len(w.steps)
		w.mu.Unlock()
	}
}

func (w *watcher) seen() []stepSeen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.steps)
}

// starvation is a node with the scene on it.
type starvation struct {
	*watcher
	node *Node
	log  *locked.Buffer
	gaps []time.Duration // between two tokens of a decoding request, after the long prompts arrived
}

// starve runs the scene until n steps had prompt tokens beside the decoding rows.
func starve(t testing.TB, target time.Duration, steps int) *starvation {
	t.Helper()
	c, err := configs.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Model, c.Open.LoadFormat, c.Batch.InterTokenLatencyTarget = dummyModel(t), "dummy", target
	c.Pool.MaxTotalTokens, c.Batch.ChunkedPrefillSize = 1<<18, chunk
	c.Requests.QueueTimeout = 0 // the long prompts may wait long on a slow machine
	c.CPU.Threads = 1           // the others are for intake and the clients
	s := &starvation{watcher: &watcher{prompt: map[messages.Row]int{}, most: steps, enough: make(chan struct{})}, log: &locked.Buffer{}}
	s.node, err = Open(t.Context(), Options{Config: c, Log: zerolog.New(s.log), Engine: func(spec *engine.Spec) {
		s.watcher.Executor, spec.Members[0].Executor, spec.Intercept = spec.Members[0].Executor, s.watcher, s.intercept
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, s.node)
	s.half = func() { s.submit(3, 1, shortPrompt, 2) }
	decoding := s.submit(1, decoders, decoderPrompt, 4000)
	for open := map[int]bool{}; len(open) < decoders; {
		if e, ok := (<-decoding).(*messages.CallOutput); ok {
			open[e.Index] = true
			s.resume(e)
		}
	}
	s.submit(2, longPrompts, longPrompt, 2)
	last := map[int]time.Time{}
	for enough := false; !enough; {
		select {
		case <-s.enough:
			enough = true
		case event := <-decoding:
			e, ok := event.(*messages.CallOutput)
			if !ok {
				continue
			}
			if e.Finish != nil {
				t.Fatalf("a decoding request ended: %+v", e.Finish)
			}
			s.resume(e)
			now := time.Now()
			if before, ok := last[e.Index]; ok {
				s.gaps = append(s.gaps, now.Sub(before))
			}
			last[e.Index] = now
		}
	}
	s.node.Engine.Send(&messages.AbortRequests{All: true})
	balanced(t, s.node)
	return s
}

func (s *starvation) resume(e *messages.CallOutput) {
	if e.Paused {
		s.node.Engine.Send(&messages.ResumeOutput{Call: e.Call})
	}
}

// submit sends n requests with different prompts of a length.
func (s *starvation) submit(call messages.CallID, n, length, output int) chan messages.CallEvent {
	events := make(chan messages.CallEvent, 1<<16)
	m := &messages.SubmitRequests{Call: call, UserID: fmt.Sprint("call-", call), Events: events}
	for i := range n {
		prompt := make([]int32, length)
		for j := range prompt {
			prompt[j] = int32(10 + (i*31+j*7)%200)
		}
		m.Requests = append(m.Requests, messages.Submission{Prompt: prompt, After: -1, Stream: true, Params: &messages.SamplingParams{
			TopP: 1, RepetitionPenalty: 1, MaxTokens: output, IgnoreEOS: true, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}})
	}
	s.node.Engine.Send(m)
	return events
}

// With any target, nothing starves: every step with long prompts has all decoding rows, and
// prompts get the rest of the target, at least the smallest chunk. If a target cannot be
// met, the log names it and one that can.
func TestNoRequestStarvesBesideLongPrompts(t *testing.T) {
	for _, tt := range []struct {
		target time.Duration
		most   int // tokens of prompts in a step
		within int // steps until the short prompt's first token
	}{
		{time.Nanosecond, 16, 0}, // cannot be met: the smallest chunk, a page
		{time.Hour, chunk, 3},    // no limit: chunked-prefill-size
	} {
		t.Run(tt.target.String(), func(t *testing.T) {
			s := starve(t, tt.target, 40)
			began := false
			full, first := 0, -1
			for i, step := range s.seen() {
				began = began || step.decoding == decoders
				if !began || step.prompts == 0 {
					continue
				}
				if step.decoding != decoders {
					t.Errorf("step %d with %d prompt tokens leaves out %d decoding rows", i, step.prompts, decoders-step.decoding)
				}
				if step.prompts > tt.most {
					t.Errorf("step %d has %d prompt tokens, the target allows %d", i, step.prompts, tt.most)
				}
				if step.prompts+decoders >= tt.most {
					full++
				}
				if step.short && first < 0 {
					first = i
				}
			}
			if full < 25 {
				t.Errorf("%d steps used what they may", full)
			}
			// One step may have been in flight when the prompt arrived.
			if tt.within > 0 && (first < 0 || first-s.arrived > tt.within) {
				t.Errorf("the short prompt came after step %d, its token in step %d", s.arrived, first)
			}
			warned := strings.Contains(s.log.String(), "inter-token-latency-target 1ns cannot be met; ")
			if warned != (tt.target == time.Nanosecond) || warned && !strings.Contains(s.log.String(), "raise it to at least") {
				t.Errorf("target %v, and the log says %s", tt.target, s.log)
			}
		})
	}
}

// TestStarvationSoak measures the 99th percentile of ITL, for targets that this machine
// can meet by its own measurement.
func TestStarvationSoak(t *testing.T) {
	if !alone {
		t.Skip("measures real time; set TROUPE_ALONE=1 where nothing else runs, as make soak does at its end")
	}
	var smallest []time.Duration // steps with the smallest chunk
	for _, step := range starve(t, time.Nanosecond, 1000).seen() {
		if step.decoding == decoders && step.prompts > 0 {
			smallest = append(smallest, step.took)
		}
	}
	slices.Sort(smallest)
	reachable := smallest[len(smallest)*99/100]
	kept := 0
	const runs = 5
	for range runs {
		target := 2 * reachable
		s := starve(t, target, 240) // the prompts last for 256 of the biggest chunks
		slices.Sort(s.gaps)
		p99 := s.gaps[len(s.gaps)*99/100]
		t.Logf("a step with the smallest chunk takes %v (p50) and %v (p99); target %v: %d gaps, p50 %v, p99 %v", smallest[len(smallest)/2], reachable, target,
			len(s.gaps), s.gaps[len(s.gaps)/2], p99)
		if p99 <= target {
			kept++
		}
	}
	if kept < runs-1 { // other programs may disturb one run
		t.Errorf("%d of %d runs kept the target", kept, runs)
	}
}
