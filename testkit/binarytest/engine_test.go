package binarytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// Numbers of seeded requests: on a GPU, and where a step takes long (-short).
const (
	engineRequests = 48
	engineFew      = 6
)

// engineSettings are ways to serve that must not change an answer.
var engineSettings = []struct {
	name  string
	args  []string
	alone bool // one request after the other
}{
	{name: "together"},
	{name: "alone", alone: true},
	{name: "one step at a time", args: []string{"--disable-overlap-schedule"}},
	{name: "in chunks, retracted", args: []string{"--chunked-prefill-size", "64", "--debug-retract-every", "5"}},
}

// The binary serves the embedded model on a GPU, and its answers to seeded requests, with log
// probabilities to the bit, have the hashes in testdata/engine-*.txt, which were made over the
// emulation. There only the first setting runs, with few requests; -rewrite runs everything.
// TROUPE_CUDA_DEVICE chooses a GPU, TROUPE_BINARY a binary that is built already.
func TestEngineGolden(t *testing.T) {
	e := newEngine(t)
	requests := engineFew
	if cudaemu.RealDevice() && !testing.Short() || golden.Rewriting() {
		requests = engineRequests
	}
	want := e.golden(t)
	settings := engineSettings
	if !cudaemu.RealDevice() && !golden.Rewriting() {
		settings = settings[:1]
	}
	for _, setting := range settings {
		t.Run(setting.name, func(t *testing.T) {
			s := ready(t, e.command(t, append([]string{"serve", "--port", "0", "--log-format", "json", "--device", e.device, "--max-total-tokens", "32768"}, setting.args...)...))
			got := s.answers(t, requests, setting.alone)
			if status := s.stop(t); status != 0 {
				t.Errorf("the server ended with status %d:\n%s", status, s.log)
			}
			if golden.Rewriting() && len(want) == 0 {
				e.rewrite(t, got)
				want = got
			}
			different := 0
			for i := range got {
				if i >= len(want) || got[i] != want[i] {
					t.Errorf("request %d: the hash of the answer is %s; it is not that of %s", i, got[i], e.file())
					different++
				}
			}
			t.Logf("%d of %d answers are equal", len(got)-different, len(got))
		})
	}
}

// engine is the binary with CUDA, and the device that it runs on.
type engine struct {
	binary, driver, device string
	ampere                 bool // its tensor cores add as those of Ampere
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{binary: os.Getenv("TROUPE_BINARY")}
	if e.binary == "" {
		e.binary = withCUDA(t)
	}
	library, ordinal, err := cudaemu.Device(root + "/gpu/cuda/kernels")
	if err != nil {
		t.Fatal(err)
	}
	e.driver, e.device = library, fmt.Sprintf("cuda:%d", ordinal)
	list := string(must(e.command(t, "inspect", "devices").Output())(t))
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, e.device) {
			e.ampere = strings.Contains(line, "compute capability 8.")
			return e
		}
	}
	t.Fatalf("the driver has no %s:\n%s", e.device, list)
	return nil
}

func (e *engine) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if e.driver != "" {
		args = append(args, "--cuda-library", e.driver)
	}
	f := faults{fake: os.Getenv("TROUPE_FAKE_CUDA")}
	if slices.Contains(args, "serve") {
		f.args = roomy
	}
	return f.run(t, e.binary, args...)
}

func (e *engine) file() string {
	if e.ampere {
		return "testdata/engine-ampere.txt"
	}
	return "testdata/engine-hopper.txt"
}

// golden returns the hashes; none if they are written anew.
func (e *engine) golden(t *testing.T) []string {
	t.Helper()
	if golden.Rewriting() {
		return nil
	}
	return strings.Fields(string(must(os.ReadFile(e.file()))(t)))
}

func (e *engine) rewrite(t *testing.T, sums []string) {
	t.Helper()
	if err := os.WriteFile(e.file(), []byte(strings.Join(sums, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// answers sends the first seeded requests and returns hashes of what they are answered.
func (s *server) answers(t *testing.T, n int, alone bool) []string {
	t.Helper()
	sums := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		ask := func() { sums[i] = s.answer(t, seededRequest(uint64(i))) }
		if alone {
			ask()
		} else {
			all.Go(ask)
		}
	}
	all.Wait()
	return sums
}

func (s *server) answer(t *testing.T, body []byte) string {
	t.Helper()
	r, err := http.Post(s.url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Errorf("%v\n%s", err, s.log)
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	var answer struct{ Choices json.RawMessage }
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || r.StatusCode != http.StatusOK || len(answer.Choices) == 0 {
		t.Errorf("%s: %v: %s", r.Status, err, text)
	}
	return fmt.Sprintf("%x", sha256.Sum256(answer.Choices))[:32]
}

// Words of prompts, and a text that half of them begin with, which fills pages.
var (
	promptWords = strings.Fields("the cat a dog and Tom said that big red ball was in garden when they saw little girl who had happy tree house")
	sharedText  = strings.Repeat("Once upon a time there was a little girl who had a big red ball. ", 6)
)

// seededRequest draws a request: greedy or not, with every setting of sampling.
func seededRequest(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 14))
	var prompt strings.Builder
	if r.IntN(2) == 0 {
		prompt.WriteString(sharedText)
	}
	for range 1 + r.IntN(40) {
		prompt.WriteString(promptWords[r.IntN(len(promptWords))] + " ")
	}
	request := map[string]any{"prompt": prompt.String(), "max_tokens": 4 + r.IntN(16), "temperature": []float64{0, 0.7, 1.3}[r.IntN(3)],
		"seed": seed + 1, "ignore_eos": true}
	for name, values := range map[string][]any{
		"top_p": {0.9, 0.5}, "top_k": {5, 40}, "min_p": {0.05}, "frequency_penalty": {0.5}, "presence_penalty": {0.3},
		"repetition_penalty": {1.2}, "logprobs": {0, 3},
	} {
		draw := rand.New(rand.NewPCG(seed, uint64(len(name))))
		if draw.IntN(3) == 0 {
			request[name] = values[draw.IntN(len(values))]
		}
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return body
}
