package httpapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// trail is what middleware knows of a request.
type trail struct {
	id    string
	rules *rules    // those with which the request began
	route string    // pattern of the endpoint, "" if there is none
	err   *apiError // the answer's, for the access log
	role  role
	key   string // digest of the API key, "" without one
	cache string // owner of the prefix cache, "" for the common one
}

type trailKey struct{}

// trailOf is the trail of a request; in tests and probes an empty one.
func trailOf(ctx context.Context) *trail {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{}
}

// withRequestID returns the client's X-Request-ID or a new one in the answer, and
// writes one line to the access log.
func (s *Server) withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &trail{id: r.Header.Get("X-Request-ID"), rules: s.rules.Load()}
		if !printable(t.id) {
			t.id = newID()
		}
		w.Header().Set("X-Request-ID", t.id)
		recorded, start := &recorder{ResponseWriter: w, ctl: http.NewResponseController(w), stall: t.rules.WriteStall}, time.Now()
		// The connection may still have the deadline of its last answer.
		_ = recorded.ctl.SetWriteDeadline(time.Time{})
		body := &watchedBody{ReadCloser: r.Body}
		defer func() { // also when the handler aborts
			if r.ContentLength != 0 && !body.ended {
				s.readRest(recorded, body, r)
			}
			s.logAccess(r, t, recorded, time.Since(start))
		}()
		r = r.WithContext(context.WithValue(r.Context(), trailKey{}, t))
		r.Body = body
		next.ServeHTTP(recorded, r)
	})
}

// watchedBody records whether it was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// restOfBody is how long the rest of a body is read that no handler read.
const restOfBody = time.Second

// readRest discards the rest of a body. A client that still sends would lose the
// answer if the connection closed now. A client that sends nothing more is not waited for.
func (s *Server) readRest(w *recorder, body *watchedBody, r *http.Request) {
	_ = w.ctl.SetReadDeadline(time.Now().Add(restOfBody))
	if w.status == 0 || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" { // no answer, or no rest
		return
	}
	if w.ctl.Flush() == nil {
		_, _ = io.CopyN(io.Discard, body, s.rulesFor(r.Context()).MaxBodyBytes)
	}
}

// logAccess writes the line of a request. Its only text of the client is the
// X-Request-ID: the path is the endpoint's, and errors are without their arguments.
func (s *Server) logAccess(r *http.Request, t *trail, rec *recorder, took time.Duration) {
	status, event := max(rec.status, http.StatusOK), s.Log.Info()
	if t.err != nil && t.err.Status == statusClientGone {
		status = statusClientGone
	}
	path := t.route
	if path == "" || path == "/" {
		path = "unknown"
	}
	probe := slices.Contains([]string{"/livez", "/readyz", "/health", "/health_generate", "/metrics"}, path)
	switch {
	case status == http.StatusServiceUnavailable && !probe: // a deadline or a shutdown, not a fault
		event = s.Log.Warn()
	case status >= 500 && !probe:
		event = s.Log.Error()
	case probe:
		event = s.Log.Debug()
	}
	event = event.Str("request_id", t.id).Str("method", knownMethod(r.Method)).Str("path", path).Str("client", r.RemoteAddr).
		Int("status", status).Int64("bytes", rec.bytes).Dur("took_ms", took)
	if t.err != nil {
		event = event.Str("error", clip(cmp.Or(t.err.logged, "…"), maxErrorMessage))
		if name, known := parameter(t.err.Param); known {
			event = event.Str("param", name)
		}
		if t.err.Code != "" {
			event = event.Str("code", t.err.Code)
		}
	}
	event.Msg("request")
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}

// knownMethod is a method of HTTP, or "unknown".
func knownMethod(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "unknown"
}

// printable reports whether a client's id can go into headers and log lines.
func printable(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' })
}

// recorder records the status and size of an answer and bounds the time of a write.
type recorder struct {
	http.ResponseWriter
	ctl    *http.ResponseController
	stall  time.Duration
	status int // 0: the answer has not begun
	bytes  int64
}

// begun reports whether an answer has begun, too late for another status.
func begun(w http.ResponseWriter) bool {
	r, ok := w.(*recorder)
	return ok && r.status != 0
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write sets a deadline, which also holds for what net/http sends after the handler.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	_ = r.ctl.SetWriteDeadline(time.Now().Add(r.stall)) // not every ResponseWriter has deadlines (tests)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find deadlines and Flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// withCORS answers browsers of the allowed origins.
func (s *Server) withCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, allowed := r.Header.Get("Origin"), s.rulesFor(r.Context()).CORSOrigins
		if origin != "" && (slices.Contains(allowed, "*") || slices.Contains(allowed, origin)) {
			h := w.Header()
			h.Add("Vary", "Origin")
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "X-Request-ID, Retry-After")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Access-Control-Allow-Methods", "GET, POST")
				h.Set("Access-Control-Allow-Headers", cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "Authorization, Content-Type"))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
