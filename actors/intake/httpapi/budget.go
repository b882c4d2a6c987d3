package httpapi

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// work is what a request holds from its body to its answer: bytes of the budget and a
// place while the body is parsed and tokenised. Its handler ends it.
type work struct {
	charge charge
	place  chan struct{} // nil: none is held
	left   *leftovers    // of the body; nil if it must not have any
}

// takePlace waits for a place. Parsing and tokenising take CPU time from the engine, so
// there are few. Large bodies have their own, so that small ones do not wait for them.
func (s *Server) takePlace(ctx context.Context, w *work, size int) *apiError {
	place := s.places
	if size > smallBody {
		place = s.largePlace
	}
	select {
	case place <- struct{}{}:
		w.place = place
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return clientGone(ctx, nil)
	}
	return nil
}

// parsed returns the place. holds is the size of what is still held, in bytes.
func (w *work) parsed(holds int) *apiError {
	w.leave()
	return w.hold(int64(holds))
}

// hold charges the budget for all that is held, in bytes.
func (w *work) hold(bytes int64) *apiError {
	if full := w.charge.set(bytes); full != "" {
		return newError(http.StatusTooManyRequests).coded(codeLimited).retry(1).say("%s; send the request again later", own(full))
	}
	return nil
}

// end returns what is left. It may be called again.
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

// smallBody is the most bytes of a body that may use the reserve and the small places.
const smallBody = 256 << 10

// budget bounds the memory of all bodies. A quarter of it is for small bodies only, and
// the large ones of one client get at most half, which leaves room for other clients.
//
// Handlers run beside each other and share only this lock, for a few additions.
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

// charge is the part of a budget that one body has. One goroutine uses it.
type charge struct {
	from   *budget
	client string
	bytes  int64
}

// set changes a charge if the budget has room. Otherwise it returns what is full.
func (c *charge) set(bytes int64) (full string) {
	b, more := c.from, bytes-c.bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	switch large := largePart(bytes) - largePart(c.bytes); {
	case more > 0 && b.used+more > b.total:
		return "too many request bodies are in progress"
	case large > 0 && b.used+more > b.total/4*3:
		return "too many large request bodies are in progress"
	case large > 0 && b.clients[c.client]+large > b.total/2:
		return "this client has too many large request bodies in progress"
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

// client is the owner of a body in the budget: the API key or, without one, the address.
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
