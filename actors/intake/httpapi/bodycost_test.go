package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// Every body has bounded costs in time and memory. Each endpoint gets a large value
// of each kind in each place.

// places are bodies with a hole for the value.
var places = map[string][]string{
	"/v1/chat/completions": {
		`{"max_tokens": 1, "messages": [{"role": "user", "content": %s}]}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi", "x": %s}]}`,
		`{"max_tokens": 1, "messages": %s}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "chat_template_kwargs": {"x": %s}}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "tools": %s}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "description": %s}}]}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "tool_choice": "required", "n": 8, "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"enum": [%s]}}}}}]}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": %s}}]}]}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "stop": %s}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "logit_bias": %s}`,
		`{"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "metadata": %s}`,
	},
	"/v1/completions": {`{"prompt": %s, "max_tokens": 1}`, `{"prompt": %s, "max_tokens": 1, "echo": true}`, `{"prompt": "hi", "max_tokens": 1, "stop_token_ids": %s}`, `{"prompt": "hi", "max_tokens": 1, "user": %s}`},
	"/generate": {`{"text": %s, "sampling_params": {"max_new_tokens": 1}}`, `{"input_ids": %s, "sampling_params": {"max_new_tokens": 1}}`,
		`{"text": "hi", "sampling_params": %s}`, `{"text": "hi", "sampling_params": {"custom_params": %s}}`},
	"/tokenize":      {`{"prompt": %s}`},
	"/v1/tokenize":   {`{"text": %s}`},
	"/detokenize":    {`{"tokens": %s}`},
	"/v1/detokenize": {`{"tokens": %s, "skip_special_tokens": false}`},
	"/abort_request": {`{"rid": %s}`},
}

// values write JSON of about size bytes.
var values = map[string]func(w *bufio.Writer, size int){
	"digits":         func(w *bufio.Writer, size int) { repeat(w, "1", "", "1", size) },
	"fraction":       func(w *bufio.Writer, size int) { repeat(w, "0.", "", "1", size) },
	"ids":            func(w *bufio.Writer, size int) { repeat(w, "[1", "]", ",1", size) },
	"lists of ids":   func(w *bufio.Writer, size int) { repeat(w, "[[1]", "]", ",[1,2,3,4,5,6,7]", size) },
	"empty objects":  func(w *bufio.Writer, size int) { repeat(w, "[{}", "]", ",{}", size) },
	"texts":          func(w *bufio.Writer, size int) { repeat(w, `["a"`, "]", `,"a"`, size) },
	"words":          func(w *bufio.Writer, size int) { repeat(w, `"`, `"`, "word, Wörter ", size) },
	"one long word":  func(w *bufio.Writer, size int) { repeat(w, `"`, `"`, "a", size) },
	"escapes":        func(w *bufio.Writer, size int) { repeat(w, `"`, `"`, `\u0061`, size) },
	"lists as text":  func(w *bufio.Writer, size int) { repeat(w, `"[[]`, `]"`, ",[]", size) },
	"nested arrays":  func(w *bufio.Writer, size int) { repeat(w, "", "", "[", size/2); repeat(w, "", "", "]", size/2) },
	"nested objects": func(w *bufio.Writer, size int) { repeat(w, "", "", `{"a":`, size) },
	"keys": func(w *bufio.Writer, size int) {
		w.WriteString(`{"k":0`)
		for i, written := 0, 0; written < size; i++ {
			n, _ := w.WriteString(`,"` + strconv.Itoa(i) + `":0`)
			written += n
		}
		w.WriteString("}")
	},
}

func repeat(w *bufio.Writer, head, tail, part string, size int) {
	w.WriteString(head)
	for range size / len(part) {
		w.WriteString(part)
	}
	w.WriteString(tail)
}

// makeBody puts a value into a place. It is made once for several requests.
func makeBody(place, kind string, size int) []byte {
	head, tail, _ := strings.Cut(place, "%s")
	var b bytes.Buffer
	b.Grow(size + size/2)
	w := bufio.NewWriter(&b)
	w.WriteString(head)
	values[kind](w, size)
	w.WriteString(tail)
	w.Flush()
	return b.Bytes()
}

// costs are a server's costs as counted by the kernel.
type costs struct {
	cpu    time.Duration
	memory int64 // bytes resident at the most, above rest
}

func (c costs) String() string { return fmt.Sprintf("%6.2f s %5d MB", c.cpu.Seconds(), c.memory>>20) }

// measured runs f and returns its costs in this process, including the clients.
func measured(t *testing.T, run func()) costs {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // VmHWM begins again
		t.Skipf("the peak of memory cannot be reset here: %v", err)
	}
	rest, cpu := resident(t, "VmRSS:"), measure.CPUTime()
	run()
	return costs{measure.CPUTime() - cpu, resident(t, "VmHWM:") - rest}
}

func resident(t *testing.T, which string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, which); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s in /proc/self/status", which)
	return 0
}

// bodyScale is the size of the bodies: whole with TROUPE_SOAK, otherwise a tenth.
func bodyScale(t *testing.T) float64 {
	if runtime.GOOS != "linux" {
		t.Skip("it measures by /proc")
	}
	if racedetector.Enabled {
		t.Skip("the race detector multiplies time and memory")
	}
	if os.Getenv("TROUPE_SOAK") != "" {
		return 1
	}
	return .1
}

const wholeBody = 63 << 20

// costServer has the context of a real model, so that long prompts fit.
func costServer(t *testing.T) *testserver.Server {
	return testserver.Start(t, testserver.Options{Context: 1 << 16, PageSize: 16, Pages: 1 << 13, Log: zerolog.Disabled})
}

// sendBody posts a body and accepts any answer but a fault of the server.
func sendBody(ctx context.Context, s *testserver.Server, path string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// neighbours sends small requests until stopped, and returns the 0.99 quantile of
// their durations.
func neighbours(t *testing.T, s *testserver.Server) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var took []time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			start := time.Now()
			status, err := sendBody(ctx, s, "/v1/chat/completions", []byte(`{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}`))
			if ctx.Err() != nil { // the last one counts for as long as it took until now
				took = append(took, time.Since(start))
				return
			}
			if err != nil || status != http.StatusOK {
				t.Errorf("another client: status %d, %v", status, err)
			}
			took = append(took, time.Since(start))
		}
	}()
	return func() time.Duration {
		cancel()
		<-done
		slices.Sort(took)
		return took[int(math.Ceil(.99*float64(len(took))))-1]
	}
}

func TestEveryBodyHasBoundedCosts(t *testing.T) {
	scale := bodyScale(t)
	size := int(scale * wholeBody)
	// A tenth of a body may use a tenth of the bounds, plus what does not depend on the
	// size.
	most := costs{time.Duration((2*scale + .5*(1-scale)) * float64(time.Second)), int64((300*scale + 60*(1-scale)) * 1e6)}
	s := costServer(t)
	for path, bodies := range places {
		for _, place := range bodies {
			for kind := range values {
				body := makeBody(place, kind, size)
				var status int
				spent := measured(t, func() {
					var err error
					if status, err = sendBody(t.Context(), s, path, body); err != nil {
						t.Errorf("%s with %s in %s: %v", path, kind, place, err)
					}
				})
				t.Logf("%s  %d  %-20s %-15s %s", spent, status, path, kind, place)
				if spent.cpu > most.cpu || spent.memory > most.memory || status >= 500 {
					t.Errorf("%s with %s in %s: status %d, %s, at most %s", path, kind, place, status, spent, most)
				}
			}
		}
	}
}

// Sixteen clients send large bodies at once, and other clients are hardly delayed.
func TestManyLargeBodiesAtOnce(t *testing.T) {
	scale := bodyScale(t)
	most, latest := int64((1000*scale+300*(1-scale))*1e6), 10*time.Second // on a busy machine, for tests that run by the way
	if scale == 1 {
		latest = time.Second / 2
	}
	s := costServer(t)
	for path, bodies := range places {
		if scale < 1 && path != "/v1/chat/completions" && path != "/detokenize" {
			continue
		}
		for kind := range values {
			body := makeBody(bodies[0], kind, int(scale*wholeBody))
			var late time.Duration
			spent := measured(t, func() {
				stop := neighbours(t, s)
				var wait sync.WaitGroup
				for range 16 {
					wait.Go(func() {
						if status, err := sendBody(t.Context(), s, path, body); err == nil && status >= 500 {
							t.Errorf("%s with %s: status %d", path, kind, status)
						}
					})
				}
				wait.Wait()
				late = stop()
			})
			t.Logf("%s  others %4d ms  %-20s %s", spent, late.Milliseconds(), path, kind)
			if spent.memory > most || late > latest {
				t.Errorf("16 x %s with %s: %s, others' p99 %s; at most %d MB and %s", path, kind, spent, late, most>>20, latest)
			}
		}
	}
}

// Nothing is computed for clients that have disconnected.
func TestNothingIsComputedForThoseWhoLeft(t *testing.T) {
	size := int(bodyScale(t) * wholeBody)
	s := costServer(t)
	for path, bodies := range places {
		ctx, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for kind := range values {
			body := makeBody(bodies[0], kind, size)
			wait.Go(func() { sendBody(ctx, s, path, body) })
		}
		leave()
		wait.Wait()
		// Processor time is measured over real time, because no event ends either of these.
		time.Sleep(time.Second)
		before := measure.CPUTime()
		time.Sleep(100 * time.Millisecond)
		spent := measure.CPUTime() - before
		t.Logf("%-20s %s of 100 ms", path, spent)
		if spent > 20*time.Millisecond {
			t.Errorf("%s: %s of 100 ms, a second after the clients left", path, spent)
		}
	}
}
