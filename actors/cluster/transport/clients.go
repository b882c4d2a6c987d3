package transport

import (
	"sync"

	"google.golang.org/grpc"
)

// mostClients bounds the connections that are kept for calls.
const mostClients = 1024

// clients are the connections for calls, by address. One that has failed, or has brought no
// answer in time, is not used again: it would dial again by itself, but later and later, and
// never if nothing tells it that the peer is not heard any more.
type clients struct {
	dial []grpc.DialOption
	mu   sync.Mutex
	by   map[string]*client
}

// client is a connection with the calls that use it. It is closed with the last one once
// it is not kept any more.
type client struct {
	*grpc.ClientConn
	address string
	calls   int
	dropped bool
}

// get returns the connection to an address, until put.
func (c *clients) get(hostPort string) (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.by[hostPort]; known != nil {
		known.calls++
		return known, nil
	}
	if len(c.by) >= mostClients { // addresses that come and go
		for _, other := range c.by {
			c.drop(other)
			break
		}
	}
	conn, err := grpc.NewClient(scheme+":///"+hostPort, c.dial...)
	if err != nil {
		return nil, err
	}
	if c.by == nil {
		c.by = map[string]*client{}
	}
	made := &client{ClientConn: conn, address: hostPort, calls: 1}
	c.by[hostPort] = made
	return made, nil
}

// put ends a call. failed says that the node has not answered it.
func (c *clients) put(used *client, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	used.calls--
	switch {
	case failed && !used.dropped:
		c.drop(used)
	case used.dropped && used.calls == 0:
		used.Close()
	}
}

// drop forgets a connection. Calls that use it go on.
func (c *clients) drop(known *client) {
	known.dropped = true
	if c.by[known.address] == known {
		delete(c.by, known.address)
	}
	if known.calls == 0 {
		known.Close()
	}
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.by {
		known.Close()
	}
	c.by = nil
}
