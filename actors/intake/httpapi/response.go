package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

func writeError(w http.ResponseWriter, e *apiError) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Final { // OpenAI's SDKs read it
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, e.Status, e.body())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encodeJSON(v)
	if err != nil {
		status = err.Status
		body, _ = encodeJSON(err.body())
	}
	writeBody(w, status, body)
}

// respond ends a handler with a value and the status 200.
func respond(w http.ResponseWriter, v any) *apiError {
	writeJSON(w, http.StatusOK, v)
	return nil
}

func encodeJSON(v any) ([]byte, *apiError) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // no page contains an answer unchanged
	if err := e.Encode(v); err != nil {
		return nil, internal("the response cannot be encoded as JSON")
	}
	return body.Bytes(), nil
}

// writeBody answers with JSON that is ready.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// recorder records the status and size of an answer and bounds the time of a write.
type recorder struct {
	http.ResponseWriter
	ctl    *http.ResponseController
	stall  time.Duration
	status int // 0: the answer has not begun
	bytes  int64
	sent   time.Time // the newest write
}

// begun reports whether an answer has begun, too late for another status.
func begun(w http.ResponseWriter) bool {
	r, ok := w.(*recorder)
	return ok && r.status != 0
}

func (r *recorder) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

// Write sets a deadline, which also holds for what net/http sends after the handler.
func (r *recorder) Write(p []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	r.sent = time.Now()
	_ = r.ctl.SetWriteDeadline(r.sent.Add(r.stall)) // not every ResponseWriter has deadlines (tests)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find deadlines and Flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
