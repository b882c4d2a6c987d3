package recording

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// A file that cannot be written ends the recording once, and no request.
func TestRecordingOnAFullDisk(t *testing.T) {
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full, a file that is always full")
	}
	var log bytes.Buffer
	r := Start("full", file, 16, zerolog.New(&log))
	end := r.Begin(&messages.Submission{Prompt: make([]int32, 40)})
	if end == nil {
		t.Fatal("the first request was left out")
	}
	end(3)
	for range 2 { // the tick of the goroutine does the same
		if err := r.out.Flush(); err == nil {
			t.Fatal("a full disk took the trace")
		} else {
			r.fail(err)
		}
	}
	if r.Begin(&messages.Submission{Prompt: make([]int32, 40)}) != nil {
		t.Error("a request is recorded after the file failed")
	}
	if err := r.Close(); err == nil {
		t.Error("closing hides that the file is not whole")
	}
	if n := strings.Count(log.String(), "recording has stopped"); n != 1 {
		t.Errorf("the failure was logged %d times: %s", n, &log)
	}
}

// The queue is bounded by requests and by tokens, and what it leaves out is logged.
func TestRecordingLeavesOutWhatItCannotHold(t *testing.T) {
	var log bytes.Buffer
	r := &Recorder{log: zerolog.New(&log), wake: make(chan struct{}, 1)} // no goroutine writes
	taken := 0
	for range maxRequests + 5 {
		if r.Begin(&messages.Submission{Prompt: []int32{1}}) != nil {
			taken++
		}
	}
	if taken != maxRequests || r.dropped != 5 {
		t.Errorf("%d requests wait, %d were left out", taken, r.dropped)
	}
	r.take()
	big := &messages.Submission{Prompt: make([]int32, maxTokens)}
	if r.Begin(big) == nil || r.Begin(big) != nil {
		t.Error("one prompt of any length is taken, a second one beyond the bound is not")
	}
	if n := strings.Count(log.String(), "requests are missing"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
}
