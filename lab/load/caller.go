package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
)

// readBytes is how much of an answer is read at once. A token's event has a
// few hundred bytes.
const readBytes = 32 << 10

// caller is the memory that one request after another uses. Reading a streamed
// answer into it allocates nothing.
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

// begin forgets the request before.
func (w *caller) begin(r *Record) {
	w.rec, w.gaps, w.text, w.done = r, w.gaps[:0], w.text[:0], false
	w.events.Reset()
}

// errInStream is an error that the server sent after the status 200.
type errInStream struct{ message string }

func (e errInStream) Error() string { return e.message }

// event takes one event of a streamed answer, which arrived at w.now.
func (w *caller) event(name, data []byte) error {
	if w.done {
		return nil
	}
	if string(data) == "[DONE]" {
		w.done = true
		return nil
	}
	if len(data) == 0 {
		return nil
	}
	if err := w.chunk.Read(data); err != nil {
		if string(name) == "error" {
			return errInStream{fmt.Sprintf("%.200s", data)}
		}
		return err
	}
	k, r := &w.chunk, w.rec
	if k.HasError || string(name) == "error" {
		return errInStream{string(k.Error)}
	}
	w.usage()
	if !k.HasChoice {
		return nil
	}
	r.Last = w.now
	if len(k.Finish) > 0 {
		r.Finish = intern(k.Finish)
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
	w.live.tokens.Add(1)
	w.latest = w.now
	w.text = append(w.text, k.Text...)
	return nil
}

// whole takes an answer that came in one piece.
func (w *caller) whole(body []byte) error {
	if err := w.chunk.Read(body); err != nil {
		return err
	}
	k, r := &w.chunk, w.rec
	if k.HasError {
		return errInStream{string(k.Error)}
	}
	if !k.HasChoice {
		return fmt.Errorf("%w: it has no choice: %.120q", wire.ErrChunk, body)
	}
	w.usage()
	r.Last, r.Finish = w.now, intern(k.Finish)
	if k.Brings() {
		r.Chunks = 1
	}
	w.text = append(w.text, k.Text...)
	w.live.tokens.Add(int64(max(k.Usage.Completion, r.Chunks)))
	return nil
}

// usage keeps the newest count: some servers send one with each chunk.
func (w *caller) usage() {
	if k, r := &w.chunk, w.rec; k.HasUsage {
		r.Counted = true
		r.Input, r.Output, r.Cached, r.TellsCached = k.Usage.Prompt, k.Usage.Completion, k.Usage.Cached, k.Usage.TellsCached
	}
}

var errBrokenOff = errors.New("the answer is incomplete: it has neither an end mark nor a finish reason")

// end completes the record of an answer that came whole.
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

// intern saves a string for each of the usual reasons.
func intern(b []byte) string {
	switch string(b) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	}
	return string(b)
}
