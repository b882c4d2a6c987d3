package httpapi

import (
	"net"
	"net/http"
	"sync"
)

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
