package replay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/commandline"
	"github.com/troupe-engine/troupe/testkit/traces"
)

// The trace has the answers of a server with the bundled model, and replay finds the
// same prefixes as the server.
func TestRecordedTrafficIsReplayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.jsonl")
	s := commandline.Serve(t, "--record-trace", path, "--api-key", "a,b", "--page-size", "16")
	var answers []commandline.Usage
	for range 2 {
		answers = append(answers, s.Complete(t, "a", commandline.Story))
	}
	if err := s.Node.Recording.Close(); err != nil {
		t.Fatal(err)
	}
	list := traces.Read(t, path)
	if len(list) != 2 {
		t.Fatalf("%d requests are recorded", len(list))
	}
	for i, q := range list {
		if q.Input != answers[i].Prompt || q.Output != answers[i].Output || q.Tenant == "" || q.Tenant != list[0].Tenant || len(q.Blocks) != q.Input/16 {
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
	if r := replay.Results[0]; r.Requests != 2 || r.Hits*16 != answers[1].Cached || r.Hits == 0 {
		t.Errorf("replay finds %d blocks of 16 tokens, the server found %d tokens", r.Hits, answers[1].Cached)
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
