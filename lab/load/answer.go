package load

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
)

// readBytes is the buffer for answers. A token's event has a few hundred bytes.
const readBytes = 32 << 10

// caller is memory for one request after another: reading a stream allocates nothing.
type caller struct {
	live   *Live
	body   []byte
	buf    []byte
	events wire.Events
	chunk  wire.Chunk
	each   func(name, data []byte) error

	rec    *Record
	now    time.Duration // when the bytes in buf arrived
	latest time.Duration // when the last text came
	gaps   []time.Duration
	text   []byte // the answer
	done   bool   // the end mark has come
}

func newCaller(live *Live) *caller {
	w := &caller{live: live, buf: make([]byte, readBytes)}
	w.each = w.event
	return w
}

// begin drops the state of the previous request.
func (w *caller) begin(r *Record) {
	w.rec, w.gaps, w.text, w.done = r, w.gaps[:0], w.text[:0], false
	w.events.Reset()
}

// failure is an error of a known kind, which the report counts.
type failure struct{ kind, message string }

func (e failure) Error() string { return e.kind + ": " + e.message }

// inAnswer is an error that the server sent after the status 200.
func inAnswer(message string) error { return failure{"error in the response", message} }

// event handles one event of a streamed answer, which arrived at w.now.
func (w *caller) event(name, data []byte) error {
	if w.done || len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		w.done = true
		return nil
	}
	if err := w.chunk.Read(data); err != nil {
		if string(name) == "error" {
			return inAnswer(fmt.Sprintf("%.200s", data))
		}
		return err
	}
	k, r := &w.chunk, w.rec
	if k.HasError || string(name) == "error" {
		return inAnswer(string(k.Error))
	}
	w.usage()
	if !k.HasChoice {
		return nil
	}
	r.Last = w.now
	if len(k.Finish) > 0 {
		r.Finish = string(k.Finish)
	}
	if !k.Brings() {
		return nil
	}
	if r.Chunks++; r.Chunks == 1 {
		r.First = w.now
		w.live.first(w.now - r.Sent)
	} else {
		w.gaps = append(w.gaps, w.now-w.latest)
	}
	w.live.tokens(1)
	w.latest = w.now
	w.text = append(w.text, k.Text...)
	return nil
}

// whole handles an answer that came in one piece.
func (w *caller) whole(body []byte) error {
	if err := w.chunk.Read(body); err != nil {
		return err
	}
	k, r := &w.chunk, w.rec
	if k.HasError {
		return inAnswer(string(k.Error))
	}
	if !k.HasChoice {
		return fmt.Errorf(`%w: "choices" is missing or empty: %.120q`, wire.ErrChunk, body)
	}
	w.usage()
	r.Last, r.Finish = w.now, string(k.Finish)
	if k.Brings() {
		r.Chunks = 1
	}
	w.text = append(w.text, k.Text...)
	w.live.tokens(max(k.Usage.Completion, r.Chunks))
	return w.end()
}

// usage keeps the newest count: some servers send one with each chunk.
func (w *caller) usage() {
	if k, r := &w.chunk, w.rec; k.HasUsage {
		r.Counted = true
		r.Input, r.Output, r.Cached = k.Usage.Prompt, k.Usage.Completion, k.Usage.Cached
	}
}

var errBrokenOff = failure{"connection broken", "the response is incomplete: it has neither data: [DONE] nor a finish_reason"}

// end completes the record of a complete answer.
func (w *caller) end() error {
	r := w.rec
	if r.Streamed && !w.done && r.Finish == "" {
		return errBrokenOff
	}
	if !r.Counted {
		r.Input, r.Output = r.Wanted, r.Chunks
	}
	r.Last = max(r.Last, r.Sent)
	if r.Last == r.Sent { // a stream without a choice
		r.Last = w.now
	}
	r.Gaps = slices.Clone(w.gaps)
	return nil
}
