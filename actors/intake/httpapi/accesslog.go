package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// logAccess writes the line of a request. Its only text of the client is the
// X-Request-ID: the path is the endpoint's, and errors are without their arguments.
func (s *Server) logAccess(r *http.Request, t *trail, rec *recorder, took time.Duration) {
	status, event := max(rec.status, http.StatusOK), s.Log.Info()
	if t.err != nil && t.err.Status == statusClientGone {
		status = statusClientGone
	}
	method, path := r.Method, t.route
	if !slices.Contains(methods, method) {
		method = "unknown"
	}
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
	event = event.Str("request_id", t.id).Str("method", method).Str("path", path).Str("client", r.RemoteAddr).
		Int("status", status).Int64("bytes", rec.bytes).Dur("took_ms", took)
	if t.name != "" {
		event = event.Str("key", t.name)
	}
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
