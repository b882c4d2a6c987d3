package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/internal/hub"
)

// A download has a line at its start, every 30 s, and at its end.
func TestLogOfADownload(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", "/models")
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	progress := logDownload(zerolog.New(&out), func() time.Time { return now })
	progress("org/cached", hub.Progress{Files: 1, FilesDone: 1, Done: 9, Total: 9})
	for range 61 {
		progress("org/little", hub.Progress{File: "model.safetensors", Files: 2, Done: 100 + now.Unix() - 1000, Total: 200})
		now = now.Add(time.Second)
	}
	progress("org/little", hub.Progress{Files: 2, FilesDone: 2, Done: 200, Total: 200})
	want := []string{
		`"total_bytes":200,"done_bytes":100,"cache":"/models","message":"downloading the model"`,
		`"percent":65,"done_bytes":130,"total_bytes":200,"per_second_bytes":1,"message"`,
		`"percent":80,`,
		`"downloaded_bytes":100,"took_ms":61000,"message":"the model was downloaded"`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), &out)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, `"model":"org/little"`) {
			t.Errorf("line %d is %s, want %s", i, line, want[i])
		}
	}
}
