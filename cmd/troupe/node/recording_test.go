package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry/recording"
	"github.com/troupe-engine/troupe/testkit/locked"
	"github.com/troupe-engine/troupe/testkit/traces"
)

func openRecording(t *testing.T, path string) (*recording.Recorder, *locked.Buffer) {
	t.Helper()
	log := &locked.Buffer{}
	r, err := OpenRecording(&configs.Config{RecordTrace: path, PageSize: 16}, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

func TestRecordingOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	r, _ := openRecording(t, path)
	if _, err := OpenRecording(&configs.Config{RecordTrace: path}, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "already exists") {
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
	if r, err := OpenRecording(&configs.Config{}, zerolog.Nop()); r != nil || err != nil || r.Close() != nil {
		t.Errorf("without a setting: %v, %v", r, err)
	}
}

// Many requests at once: each is recorded or counted as dropped, and those that still run
// at the end are marked.
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
	list := traces.Read(t, path)
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
	if _, err := OpenRecording(&configs.Config{RecordTrace: filepath.Join(t.TempDir(), "no", "t.jsonl")}, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "record-trace") {
		t.Errorf("a folder that is missing: %v", err)
	}
}
