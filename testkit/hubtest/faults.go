package hubtest

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// Call is a request on its way to an answer.
type Call struct {
	Hub    *Hub
	CDN    bool // to the delivery network
	N      int  // of requests for this path since the fault was set, counted from 1
	W      http.ResponseWriter
	R      *http.Request
	Answer func() // the right answer
}

// File reports whether the request is for the contents of a file.
func (c *Call) File() bool { return c.CDN || strings.Contains(c.R.URL.Path, "/resolve/") }

// Fault answers a request in place of the hub, or returns false.
type Fault func(c *Call) (answered bool)

// First has a fault for the first n requests of each path.
func First(n int, f Fault) Fault {
	return func(c *Call) bool { return c.N <= n && f(c) }
}

// OnFiles has a fault for the contents of files only.
func OnFiles(f Fault) Fault {
	return func(c *Call) bool { return c.File() && f(c) }
}

// Status answers with an error; header fields follow as pairs.
func Status(status int, code string, header ...string) Fault {
	return func(c *Call) bool {
		for i := 0; i+1 < len(header); i += 2 {
			c.W.Header().Set(header[i], header[i+1])
		}
		Refuse(c.W, status, code)
		return true
	}
}

// Redirect sends every request to an address.
func Redirect(to func(c *Call) string) Fault {
	return func(c *Call) bool {
		http.Redirect(c.W, c.R, to(c), http.StatusFound)
		return true
	}
}

// cut is a ResponseWriter that ends the connection after some bytes of the body.
type cut struct {
	http.ResponseWriter
	left int
}

func (w *cut) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	w.left -= n
	if w.left == 0 && n < len(p) || err != nil {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// CutAfter ends the connection after so many bytes of a body.
func CutAfter(bytes int) Fault {
	return func(c *Call) bool {
		c.W = &cut{c.W, bytes}
		serveThrough(c)
		return true
	}
}

// serveThrough gives the right answer through the call's writer.
func serveThrough(c *Call) {
	if c.CDN {
		c.Hub.cdn(c.W, c.R)
	} else {
		c.Hub.hub(c.W, c.R)
	}
}

// Changed changes the bytes of a body; it keeps their number.
func Changed(c *Call) bool {
	c.W = &changed{c.W}
	serveThrough(c)
	return true
}

type changed struct{ http.ResponseWriter }

func (w *changed) Write(p []byte) (int, error) {
	wrong := append([]byte(nil), p...)
	for i := range wrong {
		wrong[i] ^= 1
	}
	return w.ResponseWriter.Write(wrong)
}

// WithoutRanges answers with whole files.
func WithoutRanges(c *Call) bool {
	c.R.Header.Del("Range")
	c.W.Header().Set("Accept-Ranges", "none")
	serveThrough(c)
	return true
}

// WithGzip answers with whole files as gzip, without their length.
func WithGzip(c *Call) bool {
	c.R.Header.Del("Range")
	z := &zipped{ResponseWriter: c.W}
	c.W = z
	serveThrough(c)
	if z.zip != nil {
		_ = z.zip.Close()
	}
	return true
}

type zipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (w *zipped) WriteHeader(status int) {
	if status == http.StatusOK {
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Encoding", "gzip")
		w.zip = gzip.NewWriter(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *zipped) Write(p []byte) (int, error) {
	if w.zip == nil {
		return w.ResponseWriter.Write(p)
	}
	return w.zip.Write(p)
}

// Silent never answers, until the client gives up.
func Silent(c *Call) bool {
	<-c.R.Context().Done()
	return true
}
