package hub

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A file comes in pieces, several at a time. What is in flight is lost if the process is
// killed, so all of it together is at most 8 MiB.
const (
	pieceBytes = 1 << 20
	flights    = 7
)

// source is a file on the hub.
type source struct {
	hub     *Hub
	what    string // the repository, for errors
	address string // of the hub
	final   string // where the hub has redirected to; "": not known
}

// errWhole is an answer with the whole file to a request for a part of it.
var errWhole = errors.New("the server sends whole files only")

// escaped is a path for an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// fill downloads the rest of a file. Attempts are counted from the last byte that came.
func (s *source) fill(ctx context.Context, p *partial, done func(int64)) error {
	whole := false
	for failures := 0; p.at < p.want.Size; {
		before := p.at
		var err error
		if whole {
			err = s.sequential(ctx, p, done)
			before = p.want.Size // each attempt costs the whole file, so their number stays bounded
		} else {
			err = s.pieces(ctx, p, done)
		}
		switch {
		case err == nil && p.at == p.want.Size:
			return nil
		case errors.Is(err, errWhole):
			whole = true
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			err = lie("%s ends after %d of %d bytes", p.want.Path, p.at, p.want.Size)
		}
		if p.at > before {
			failures = 0
		}
		failures++
		if moved := s.final != ""; moved && refusedAddress(err) { // addresses of delivery networks expire
			s.final = ""
		} else if !mayPass(err) {
			return err
		}
		if failures == attempts {
			return err
		}
		if err := s.hub.opt.Wait(ctx, pause(failures, err)); err != nil {
			return err
		}
	}
	return nil
}

// refusedAddress reports whether an address is not, or no longer, good.
func refusedAddress(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status >= 400 && e.Status < 500
}

// piece is a range of a file.
type piece struct {
	data  []byte // what came of it
	err   error
	final string
}

// pieces downloads ranges side by side and writes them in order. The first one comes
// alone, because its answer tells where the others are.
func (s *source) pieces(ctx context.Context, p *partial, done func(int64)) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var pending []chan piece
	var free [][]byte
	defer func() { // no goroutine stays behind
		cancel()
		for _, one := range pending {
			<-one
		}
	}()
	for next := p.at; p.at < p.want.Size; {
		for len(pending) < flights && next < p.want.Size && (s.final != "" || len(pending) == 0) {
			size := min(pieceBytes, p.want.Size-next)
			var buffer []byte
			if n := len(free); n > 0 {
				buffer, free = free[n-1], free[:n-1]
			} else {
				buffer = make([]byte, pieceBytes)
			}
			to, from := make(chan piece, 1), next
			address := s.final
			if address == "" {
				address = s.address
			}
			go func() { to <- s.fetch(ctx, address, from, buffer[:size], p.want) }()
			pending, next = append(pending, to), next+size
		}
		one := <-pending[0]
		pending = pending[1:]
		n, failed := p.Write(one.data)
		done(int64(n))
		if one.err != nil || failed != nil {
			return cmp.Or(failed, one.err) // a network error beside a full disk must not be tried again
		}
		s.final = one.final
		free = append(free, one.data[:pieceBytes:pieceBytes])
	}
	return nil
}

// fetch downloads one range.
func (s *source) fetch(ctx context.Context, address string, from int64, into []byte, f File) piece {
	ctx, alive, stop := s.hub.alive(ctx)
	defer stop()
	last := from + int64(len(into)) - 1
	resp, final, err := s.hub.get(ctx, address, http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", from, last)}})
	if err != nil {
		return piece{err: err}
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		return piece{err: errWhole}
	case http.StatusRequestedRangeNotSatisfiable:
		return piece{err: lie("%s has fewer than the %d bytes that were announced", f.Path, f.Size)}
	default:
		return piece{err: s.hub.answered(resp, s.what)}
	}
	var first, end, size int64
	if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &end, &size); n != 3 || first != from || end != last || size != f.Size {
		return piece{err: lie("a part of %s came with the Content-Range %q", f.Path, clip(resp.Header.Get("Content-Range")))}
	}
	n, err := readAll(resp.Body, into, alive)
	if err != nil {
		err = s.broken(ctx, resp, err)
	}
	return piece{into[:n], err, final}
}

// readAll fills a buffer and reports each read.
func readAll(from io.Reader, into []byte, alive func()) (n int, err error) {
	for n < len(into) && err == nil {
		var k int
		k, err = from.Read(into[n:])
		n += k
		alive()
	}
	switch {
	case n == len(into):
		return n, nil
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// alive is a context that ends if nothing has come for DataTimeout since the last call.
func (h *Hub) alive(parent context.Context) (ctx context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	limit := h.opt.dataTimeout()
	timer := time.AfterFunc(limit+h.opt.headerTimeout(), func() { cancel(errStalled) })
	return ctx, func() { timer.Reset(limit) }, func() {
		timer.Stop()
		cancel(nil)
	}
}

var errStalled = errors.New("no data arrived within HF_HUB_DOWNLOAD_TIMEOUT")

// broken is the error of an answer that ended early.
func (s *source) broken(ctx context.Context, resp *http.Response, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &unreachable{resp.Request.URL.Host, err}
}

// sequential downloads a whole file in one answer, from a server without ranges. The
// bytes that are there already are skipped.
func (s *source) sequential(ctx context.Context, p *partial, done func(int64)) error {
	ctx, alive, stop := s.hub.alive(ctx)
	defer stop()
	resp, _, err := s.hub.get(ctx, s.address, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s.hub.answered(resp, s.what)
	}
	body := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" { // although it was not asked for
		if body, err = gzip.NewReader(resp.Body); err != nil {
			if errors.Is(err, gzip.ErrHeader) {
				return lie("%s was sent as gzip, but is not gzip data", p.want.Path)
			}
			return s.broken(ctx, resp, err)
		}
	}
	buffer, skip := make([]byte, pieceBytes), p.at
	for {
		n, err := body.Read(buffer)
		alive()
		known := int(min(skip, int64(n)))
		skip -= int64(known)
		written, failed := p.Write(buffer[known:n])
		done(int64(written))
		switch {
		case failed != nil:
			return failed
		case err == io.EOF:
			return nil
		case err != nil:
			return s.broken(ctx, resp, err)
		}
	}
}
