package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/actors/shell"
)

// trail is what middleware knows of a request.
type trail struct {
	id    string
	rules *rules    // those with which the request began
	route string    // pattern of the endpoint, "" if there is none
	err   *apiError // the answer's, for the access log
	sender
}

type trailKey struct{}

// trailOf is the trail of a request; in tests and probes an empty one.
func trailOf(ctx context.Context) *trail {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{}
}

// withRequestID answers with the client's X-Request-ID or a new one, and logs the access.
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

// printable reports whether a client's id can go into headers and log lines.
func printable(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' })
}

// withErrors writes the error of a handler, or of its panic, which ends only its request. An
// answer that cannot be completed ends its connection, so that it does not look whole.
func (s *Server) withErrors(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 { // not for requests of foreign origins
			trailOf(r.Context()).route = r.Pattern[slash:]
		}
		err := s.guarded(handle, w, r)
		if err == nil {
			return
		}
		trailOf(r.Context()).err = err
		switch {
		case err.Status == statusStreamed:
		case begun(w) || err.Status == statusClientGone:
			panic(http.ErrAbortHandler)
		default:
			writeError(w, err)
		}
	}
}

func (s *Server) guarded(handle handler, w http.ResponseWriter, r *http.Request) (err *apiError) {
	defer func() {
		if p := recover(); p != nil {
			id := trailOf(r.Context()).id
			s.Log.Error().Str("panic", shell.Fault(p)).Str("request_id", id).Str("stack", string(debug.Stack())).Msg("bug in the server: a handler panicked; please report it. Other requests are not affected")
			err = internal("a handler panicked; the id of this request is %s", own(id))
		}
	}()
	return handle(w, r)
}

// newID is 96 random bits as hex.
func newID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
