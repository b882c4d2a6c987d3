package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// flushBytes is how much of a stream is gathered for one write, in bytes.
const flushBytes = 16 << 10

// sse writes server-sent events. The answer begins with the first flush, so an
// error before it can still have its own status.
type sse struct {
	w       http.ResponseWriter
	ctl     *http.ResponseController
	buf     bytes.Buffer
	enc     *json.Encoder
	started bool
}

func newSSE(w http.ResponseWriter) *sse {
	s := &sse{w: w, ctl: http.NewResponseController(w)}
	s.enc = json.NewEncoder(&s.buf)
	s.enc.SetEscapeHTML(false) // no page contains a stream unchanged
	return s
}

// add appends one event to what the next flush sends.
func (s *sse) add(v any) {
	start := s.buf.Len()
	s.buf.WriteString("data: ")
	if err := s.enc.Encode(v); err != nil { // ends with a newline
		s.buf.Truncate(start)
		return
	}
	s.buf.WriteByte('\n')
}

// flush sends what was added, within the recorder's deadline for one write: a
// client that stops reading loses only its own request. There is no deadline
// between writes, because a stream may be silent for longer.
func (s *sse) flush() *apiError {
	if !s.started {
		s.started = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // proxies must not gather events
		s.w.WriteHeader(http.StatusOK)
	}
	_, err := s.w.Write(s.buf.Bytes()) // with the recorder's deadline
	s.buf.Reset()
	if err == nil {
		err = s.ctl.Flush()
	}
	if err != nil {
		return stalled(err)
	}
	_ = s.ctl.SetWriteDeadline(time.Time{})
	return nil
}

// sent is when the last flush began. It is the zero time for the ResponseWriters of tests.
func (s *sse) sent() time.Time {
	if r, ok := s.w.(*recorder); ok {
		return r.sent
	}
	return time.Time{}
}

// fail reports an error to the client: with its status while the answer has not
// begun, later as an event, which the official clients raise as an exception.
func (s *sse) fail(e *apiError) *apiError {
	if !s.started || e.Status == statusClientGone {
		return e
	}
	s.add(e.body())
	if err := s.flush(); err != nil {
		return err
	}
	e.Status = statusStreamed
	return e
}
