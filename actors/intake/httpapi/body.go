package httpapi

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// post is the handler of an endpoint that takes a JSON body. While it runs it has
// a place to parse, until it calls job.parsed.
func post[B any](s *Server, handle func(w http.ResponseWriter, r *http.Request, job *work, body *B) *apiError) handler {
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		job := &work{charge: charge{from: s.bodies, client: client(r)}}
		defer job.end() // also when something below panics
		text, err := s.readBody(w, r, job)
		if err == nil {
			err = s.takePlace(r.Context(), job, len(text))
		}
		body := new(B)
		job.left = leftoversOf(body, s.rulesFor(r.Context()))
		if err == nil {
			err = unmarshal(r.Context(), text, body, job.left)
		}
		if err == nil {
			err = job.left.refusal()
		}
		if err != nil {
			return err
		}
		return handle(w, r, job, body)
	}
}

// readBody reads a body of JSON. The budget is charged for what has arrived, not for
// what was announced, and the body must arrive at a least rate.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, job *work) ([]byte, *apiError) {
	// This also keeps pages of other origins from posting without a preflight.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, newError(http.StatusUnsupportedMediaType).
			say("the Content-Type is %q; send JSON with Content-Type: application/json", clip(r.Header.Get("Content-Type"), 64))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, newError(http.StatusUnsupportedMediaType).
			say("the Content-Encoding %q is not supported; send the body without compression", clip(coding, 64))
	}
	if r.ContentLength < 0 {
		// net/http silently drops a Content-Length beside Transfer-Encoding. Such a
		// request may smuggle another one, so nothing else is read from a connection
		// with a chunked body (RFC 9112, 6.1).
		closeAfter(w, r)
	}
	body, err := s.receive(w, r, job)
	if err != nil && err.Status != statusClientGone {
		closeAfter(w, r) // the rest is not waited for
	}
	return body, err
}

// closeAfter closes the connection after the answer. Over HTTP/2 only the stream
// ends, because the connection has other requests.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// firstRoom is the memory for a body that has not begun to arrive, in bytes.
const firstRoom = 4 << 10

func (s *Server) receive(w http.ResponseWriter, r *http.Request, job *work) ([]byte, *apiError) {
	limit := s.rulesFor(r.Context()).MaxBodyBytes
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	most := limit + 1 // one byte more than allowed, to see the end
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1
	}
	ctl, start := http.NewResponseController(w), time.Now()
	var body []byte
	for {
		if len(body) == cap(body) {
			if int64(len(body)) == most {
				return nil, tooLarge(limit)
			}
			room := min(max(4*int64(cap(body)), firstRoom), most)
			if err := job.hold(room); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, room), body...)
		}
		// ResponseWriters of tests have no deadlines.
		_ = ctl.SetReadDeadline(start.Add(s.bodyTime(len(body))))
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			// net/http goes on reading, to notice that the client disconnects.
			_ = ctl.SetReadDeadline(time.Time{})
			return body, nil
		case err != nil:
			return nil, s.unread(r, err, len(body))
		}
	}
}

// bodyTime is how long the next byte of a body may take to arrive, counted from
// the body's start: BodyGrace and what arrived / BodyRate, at most BodyTimeout.
func (s *Server) bodyTime(arrived int) time.Duration {
	o := s.rules.Load()
	return min(o.BodyTimeout, o.BodyGrace+time.Duration(float64(arrived)/float64(o.BodyRate)*float64(time.Second)))
}

func tooLarge(limit int64) *apiError {
	return newError(http.StatusRequestEntityTooLarge).
		say("the body is larger than %d bytes (max-body-bytes); send less, or start the server with a higher limit", own(limit))
}

// unread is the error of an incomplete body.
func (s *Server) unread(r *http.Request, err error, arrived int) *apiError {
	var network net.Error
	o := s.rulesFor(r.Context())
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newError(http.StatusRequestTimeout).final().
			say("the body arrives too slowly: only %d bytes in %s; send at least %d bytes per second after the first %s, and all of it within %s",
				own(arrived), own(s.bodyTime(arrived).Round(time.Millisecond)), own(o.BodyRate), own(o.BodyGrace), own(o.BodyTimeout))
	// A connection that ends, even by one half, ends the request's context.
	case r.Context().Err() != nil, r.ProtoMajor > 1, errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF):
		return clientGone(r.Context(), err)
	}
	return invalid("", "the chunked encoding of the body is invalid after %d bytes: %v", own(arrived), err)
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
