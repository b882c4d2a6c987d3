package httpapi

import (
	"context"
	"net/http"
)

// work is what a request holds of the server from its body to its answer: bytes
// of the budget and, while the body is parsed and tokenised, a place among
// those who do that. Its handler ends it.
type work struct {
	charge charge
	place  chan struct{} // nil: none is held
}

// startWork makes the work of a request, without a place.
func (s *Server) startWork(r *http.Request) *work {
	return &work{charge: charge{from: s.bodies, client: client(r)}}
}

// takePlace waits for a place. Parsing and tokenising are CPU work beside the
// engine's, so there are few. Large bodies have one of their own: however long
// they take, the small ones do not wait for them.
func (s *Server) takePlace(ctx context.Context, w *work, size int) *apiError {
	place := s.places
	if size > smallBody {
		place = s.largePlace
	}
	select {
	case place <- struct{}{}:
		w.place = place
	case <-ctx.Done():
		return clientGone(ctx, nil)
	}
	if ctx.Err() != nil { // both were ready
		return clientGone(ctx, nil)
	}
	return nil
}

// parsed gives the place back. What is still held of the body, and of the answer
// made from it, has a size in bytes.
func (w *work) parsed(holds int) *apiError {
	w.leave()
	if full := w.charge.set(int64(holds)); full != "" {
		return noRoom(full)
	}
	return nil
}

// noRoom refuses a body for now.
func noRoom(full string) *apiError {
	return newError(http.StatusTooManyRequests).coded("rate_limit_exceeded").retry(1).
		say("%s; send it again later", own(full))
}

// end gives back what is left. It may be called again.
func (w *work) end() {
	w.leave()
	w.charge.set(0)
}

func (w *work) leave() {
	if w.place != nil {
		<-w.place
		w.place = nil
	}
}
