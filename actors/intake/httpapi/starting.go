package httpapi

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/internal/units"
)

// Starting is what a server does before it can take requests.
type Starting struct {
	Doing       string // as "downloading org/repo"
	Done, Total int64  // bytes; 0: not known
}

// Early answers on a server's address until the server itself can.
type Early struct {
	now    atomic.Pointer[Starting]
	http   *http.Server
	listen *borrowed
	ended  chan struct{}
	stop   sync.Once
}

// earlyTimeout bounds reading a request and writing its short answer.
const earlyTimeout = 10 * time.Second

// ServeEarly starts to answer: /livez with 200, everything else with 503 and what the
// server does, as a page for browsers. Stop leaves the listener open for the server itself.
func ServeEarly(l net.Listener, o Options) (*Early, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, errors.New("the listener is not a TCP listener")
	}
	e := &Early{listen: &borrowed{TCPListener: tcp}, ended: make(chan struct{})}
	e.Set(Starting{Doing: "loading the model"})
	hosts := newRules(o).hosts
	hosts.listens(l.Addr())
	e.http = &http.Server{ReadTimeout: earlyTimeout, WriteTimeout: earlyTimeout, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.answer(hosts, w, r) })}
	e.http.SetKeepAlivesEnabled(false) // the next request should reach the server itself
	go func() {
		defer close(e.ended)
		if o.TLSCert != "" {
			_ = e.http.ServeTLS(e.listen, o.TLSCert, o.TLSKey) // ends with Stop
		} else {
			_ = e.http.Serve(e.listen)
		}
	}()
	return e, nil
}

// Set says what the server does now.
func (e *Early) Set(s Starting) { e.now.Store(&s) }

// Stop ends the answers. Connections that have not been accepted wait for the server.
func (e *Early) Stop() {
	e.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if e.http.Shutdown(ctx) != nil {
			_ = e.http.Close() // clients that are too slow
		}
		<-e.ended
		_ = e.listen.SetDeadline(time.Time{})
	})
}

func (e *Early) answer(hosts *hostRule, w http.ResponseWriter, r *http.Request) {
	if err := hosts.check(r); err != nil {
		writeError(w, err)
		return
	}
	s := e.now.Load()
	switch r.URL.Path {
	case "/livez":
		writeJSON(w, http.StatusOK, map[string]string{"status": "live"})
	case "/readyz", "/health":
		w.Header().Set("Retry-After", "1")
		state := map[string]any{"status": "starting", "doing": s.Doing}
		if s.Total > 0 {
			state["done_bytes"], state["total_bytes"] = s.Done, s.Total
		}
		writeJSON(w, http.StatusServiceUnavailable, state)
	default:
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			s.page(w)
			return
		}
		e := newError(http.StatusServiceUnavailable).coded("starting").retry(5)
		if s.Total > 0 {
			e.say("the server is starting: %s, %d of %d bytes; try again later", own(s.Doing), own(s.Done), own(s.Total))
		} else {
			e.say("the server is starting: %s; try again in a moment", own(s.Doing))
		}
		writeError(w, e)
	}
}

// startingPage is what a browser shows until the server answers. It asks again by itself.
const startingPage = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="2">
<title>Troupe is starting</title>
<h1>Troupe is starting</h1>
<p>%s</p>
<p>This page opens as soon as the server is ready.</p>
</html>
`

// page answers a browser.
func (s *Starting) page(w http.ResponseWriter) {
	doing := html.EscapeString(s.Doing)
	if s.Total > 0 {
		doing += fmt.Sprintf(": %d %% of %s", s.Done*100/s.Total, units.Bytes(s.Total))
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, startingPage, doing)
}

// borrowed is a listener whose end leaves the real one open.
type borrowed struct {
	*net.TCPListener
	over atomic.Bool
}

// Accept implements net.Listener.
func (b *borrowed) Accept() (net.Conn, error) {
	conn, err := b.TCPListener.Accept()
	if b.over.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed
	}
	return conn, err
}

// Close ends Accept.
func (b *borrowed) Close() error {
	b.over.Store(true)
	return b.SetDeadline(time.Unix(1, 0))
}
