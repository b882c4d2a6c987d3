package httpapi

import (
	"context"
	"net"
	"net/http"
	"sync"
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

// smallBody is up to which size, in bytes, a body counts as small: it may use
// the reserve of the budget, and it is parsed in a place of its own kind.
const smallBody = 256 << 10

// budget is the memory that bodies may take together. A quarter of it is for
// small bodies alone, and the large ones of one client get at most half: a
// client that sends much leaves room for the others.
//
// It belongs to the edge: handlers run beside each other, and a lock for a few
// additions is all that they share.
type budget struct {
	mu      sync.Mutex
	total   int64 // bytes
	used    int64
	clients map[string]int64 // bytes of large bodies by client; no zeros
}

func newBudget(total int64) *budget { return &budget{total: total, clients: map[string]int64{}} }

// resize changes the total; bodies that exceed a smaller one stay.
func (b *budget) resize(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = total
}

// charge is what one body takes of a budget. It is used by one goroutine.
type charge struct {
	from   *budget
	client string
	bytes  int64
}

// set makes a charge larger, if the budget has room for it, or smaller. It
// returns what is full otherwise, and the charge stays as it is.
func (c *charge) set(bytes int64) (full string) {
	b, more := c.from, bytes-c.bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	switch large := largePart(bytes) - largePart(c.bytes); {
	case more > 0 && b.used+more > b.total:
		return "the server has no memory left for another request body"
	case large > 0 && b.used+more > b.total/4*3:
		return "the server has no memory left for another large request body"
	case large > 0 && b.clients[c.client]+large > b.total/2:
		return "this client already has the maximum number of large request bodies in progress"
	case large != 0:
		if b.clients[c.client] += large; b.clients[c.client] == 0 {
			delete(b.clients, c.client)
		}
	}
	b.used, c.bytes = b.used+more, bytes
	return ""
}

// largePart is what a body counts for among the large ones.
func largePart(bytes int64) int64 {
	if bytes <= smallBody {
		return 0
	}
	return bytes
}

// client is for whom a body is charged: the API key, or the address where there
// is none.
func client(r *http.Request) string {
	if key := trailOf(r.Context()).key; key != "" {
		return key
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
