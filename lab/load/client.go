package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

const (
	// lingers is how long a server may take to end a stream after its end mark.
	lingers = time.Second
	// idleConnections is how long a connection waits for its next request. Many servers
	// close idle ones after five seconds; a request sent at that moment would fail.
	idleConnections   = 3 * time.Second
	defaultRetryAfter = time.Second // the wait after a 429 that names none
)

type ClientOptions struct {
	serverapi.Server                   // its Transport nil means NewTransport
	Chat             bool              // sends to /v1/chat/completions, else to /v1/completions
	Frame            wire.FrameOptions // common to all requests
	Timeout          time.Duration     // of a request, waits for retries included; 0: never
	// Retry repeats a request that was answered with 429, after the server's
	// Retry-After or one second; without it the request counts as failed.
	Retry bool
}

func (o *ClientOptions) fill() {
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
}

// NewTransport keeps a connection for each running request and uses HTTP/1.1: streams
// must not wait for each other in one connection.
func NewTransport() *http.Transport {
	onlyHTTP1 := &http.Protocols{}
	onlyHTTP1.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 1 << 16,
		IdleConnTimeout:     idleConnections,
		DisableCompression:  true,
		Protocols:           onlyHTTP1,
	}
}

// Client sends requests to one server. Safe for concurrent use.
type Client struct {
	opt    ClientOptions
	url    string
	frame  *wire.Frame
	header http.Header // read by all requests, never changed
	http   http.Client
}

// NewClient fails if the options' extra members are not a JSON object.
func NewClient(o ClientOptions) (*Client, error) {
	frame, err := wire.NewFrame(o.Frame)
	if err != nil {
		return nil, err
	}
	o.fill()
	path := "v1/completions"
	if o.Chat {
		path = "v1/chat/completions"
	}
	c := &Client{opt: o, frame: frame, url: o.Base.JoinPath(path).String(), http: http.Client{Transport: o.Transport}}
	c.header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		// Not sent: it makes net/http repeat a request on a new connection if
		// the server closed the old one before the answer began, as servers
		// do between two requests (RFC 9112, section 9.3.1).
		"Idempotency-Key": nil,
	}
	if o.Key != "" {
		c.header.Set("Authorization", "Bearer "+o.Key)
	}
	return c, nil
}

// errTimeout is the cause of a request's own deadline.
var errTimeout = failure{"timeout", "the request took longer than --request-timeout"}

// Ask sends one request outside any load. Times count from start.
func (c *Client) Ask(ctx context.Context, body *wire.Body, start time.Time) *Record {
	r := &Record{}
	c.ask(ctx, newCaller(&Live{}), body, r, start)
	return r
}

// ask sends one request and completes its record; start is the start of the load.
// The answer's text is in w until the next request.
func (c *Client) ask(ctx context.Context, w *caller, body *wire.Body, r *Record, start time.Time) {
	w.begin(r)
	w.body = c.frame.Write(body)
	if c.opt.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opt.Timeout, errTimeout)
		defer cancel()
	}
	r.Sent = time.Since(start)
	for {
		wait, err := c.try(ctx, w, start)
		if err == nil && wait == 0 {
			return
		}
		if err == nil {
			r.Retries++
			err = sleep(ctx, wait)
		}
		if err != nil {
			r.Last = time.Since(start)
			r.fail(ctx, err)
			return
		}
	}
}

// try sends the request once. wait is above 0 when it is to be sent again.
func (c *Client) try(ctx context.Context, w *caller, start time.Time) (wait time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(w.body))
	if err != nil {
		return 0, err
	}
	request.Header = c.header
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	w.rec.Status = answer.StatusCode
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
		if answer.StatusCode == http.StatusTooManyRequests && c.opt.Retry {
			return retryAfter(answer.Header.Get("Retry-After"), time.Now()), nil
		}
		_, message := serverapi.ErrorOf(text)
		return 0, failure{fmt.Sprintf("HTTP %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)), message}
	}
	if kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "text/event-stream" {
		text, err := io.ReadAll(io.LimitReader(answer.Body, serverapi.MaxAnswer))
		if w.now = time.Since(start); err == nil {
			err = w.whole(text)
		}
		return 0, err
	}
	w.rec.Streamed = true
	var linger *time.Timer
	for {
		n, err := answer.Body.Read(w.buf)
		w.now = time.Since(start)
		if bad := w.events.Feed(w.buf[:n], w.each); bad != nil {
			return 0, bad
		}
		switch {
		case err != nil && w.done: // the answer is complete
			return 0, w.end()
		case err == io.EOF:
			if bad := w.events.End(w.each); bad != nil {
				return 0, bad
			}
			return 0, w.end()
		case err != nil:
			return 0, err
		case w.done && linger == nil: // read to the end, so that the connection can be used again
			linger = time.AfterFunc(lingers, cancel)
			defer linger.Stop()
		}
	}
}

// retryAfter reads the header: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil && seconds >= 0 {
		return max(time.Duration(min(seconds, 3600))*time.Second, time.Millisecond)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), time.Millisecond), time.Hour)
	}
	return defaultRetryAfter
}

// sleep waits, or returns why it could not.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Record) fail(ctx context.Context, err error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errTimeout) {
		r.Outcome = CutOff
		return
	}
	r.Outcome, r.Message = Failed, err.Error()
	var known failure
	var network net.Error
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		r.Failure, r.Message = errTimeout.kind, errTimeout.message
	case errors.As(err, &known):
		r.Failure, r.Message = known.kind, known.message
	case errors.Is(err, wire.ErrChunk), errors.Is(err, wire.ErrLongEvent):
		r.Failure = "invalid response"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		r.Failure = "connection broken"
	case errors.Is(err, syscall.ECONNREFUSED):
		r.Failure = "connection refused"
	case errors.As(err, &network) && network.Timeout():
		r.Failure = "timeout"
	default:
		r.Failure = "network"
	}
}
