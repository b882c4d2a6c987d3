package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/locked"
)

func recorded(t *testing.T, path string) []trace.Request {
	t.Helper()
	r, err := trace.Open(path, "jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []trace.Request
	for {
		next, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		q := *next
		q.Blocks = append(q.Blocks[:0:0], q.Blocks...)
		list = append(list, q)
	}
}

// What a server of the bundled model answered stands in the trace, and replay
// finds the prefixes that the server found.
func TestRecordedTrafficIsReplayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.jsonl")
	s := serveBundled(t, "--record-trace", path, "--api-key", "a,b", "--page-size", "16")
	type answer struct{ prompt, output, cached int }
	var answers []answer
	for range 2 {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/completions", strings.NewReader(story))
		r.Header.Set("Authorization", "Bearer a")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Details    struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		answers = append(answers, answer{a.Usage.Prompt, a.Usage.Completion, a.Usage.Details.Cached})
	}
	if err := s.node.Recording.Close(); err != nil {
		t.Fatal(err)
	}
	list := recorded(t, path)
	if len(list) != 2 {
		t.Fatalf("%d requests are recorded", len(list))
	}
	for i, q := range list {
		if q.Input != answers[i].prompt || q.Output != answers[i].output || q.Tenant == "" || q.Tenant != list[0].Tenant || len(q.Blocks) != q.Input/16 {
			t.Errorf("recorded %+v, answered %+v", q, answers[i])
		}
	}
	out := mustRun(t, "", "replay", "--trace", path, "--format", "jsonl", "--cache-only", "--json")
	var replay struct {
		Results []struct {
			Hits     int `json:"hit_blocks"`
			Requests int `json:"requests"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(out), &replay); err != nil || len(replay.Results) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	if r := replay.Results[0]; r.Requests != 2 || r.Hits*16 != answers[1].cached || r.Hits == 0 {
		t.Errorf("replay finds %d blocks of 16 tokens, the server found %d tokens", r.Hits, answers[1].cached)
	}
	if out := mustRun(t, "", "replay", "--trace", path, "--format", "jsonl", "--page-size", "16", "--kv-tokens", "4096", "--json"); !strings.Contains(out, "{") {
		t.Errorf("the engine's replay: %s", out)
	}
	text, _ := os.ReadFile(path)
	if strings.Contains(string(text), "cat") || strings.Contains(string(text), `"a"`) {
		t.Errorf("the trace tells too much: %s", text)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the trace: %v, %v", info.Mode(), err)
	}
}

func openRecording(t *testing.T, path string) (*node.Recording, *locked.Buffer) {
	t.Helper()
	log := &locked.Buffer{}
	r, err := node.OpenRecording(&configs.Config{RecordTrace: path, PageSize: 16}, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

func TestRecordingOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	r, _ := openRecording(t, path)
	if _, err := node.OpenRecording(&configs.Config{RecordTrace: path}, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second recording: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a recording of nothing left a file")
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if r, err := node.OpenRecording(&configs.Config{}, zerolog.Nop()); r != nil || err != nil || r.Close() != nil {
		t.Errorf("without a setting: %v, %v", r, err)
	}
}

// Many at once: everything is there or counted, and what still runs at the end
// is marked.
func TestRecordingUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	r, log := openRecording(t, path)
	var all sync.WaitGroup
	var mu sync.Mutex
	left := 0
	for worker := range 8 {
		all.Go(func() {
			for i := range 2000 {
				end := r.Begin(&messages.Submission{Prompt: make([]int32, 1+i%100), Namespace: "n"})
				switch {
				case end == nil:
					mu.Lock()
					left++
					mu.Unlock()
				case worker > 0 || i != 1999: // one never ends
					end(i)
				}
			}
		})
	}
	all.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if end := r.Begin(&messages.Submission{Prompt: []int32{1}}); end != nil {
		t.Error("a request after the end is recorded")
	}
	list := recorded(t, path)
	if len(list)+left != 16000 || !strings.Contains(log.String(), fmt.Sprintf(`"left_out":%d,`, left)) {
		t.Errorf("%d recorded and %d left out of 16000: %s", len(list), left, log)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Arrival < list[i-1].Arrival {
			t.Fatalf("request %d arrived before the one before it", i)
		}
	}
}

func TestRecordingNeedsAFolder(t *testing.T) {
	if _, err := node.OpenRecording(&configs.Config{RecordTrace: filepath.Join(t.TempDir(), "no", "t.jsonl")}, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "record-trace") {
		t.Errorf("a folder that is missing: %v", err)
	}
}
