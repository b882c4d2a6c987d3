package clustertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards the connections of other nodes to a node. A connection carries what one
// peer sends in one direction, so a fault of a connection is a fault of one link.
type Proxy struct {
	Address  string
	target   string
	listener net.Listener
	open     sync.WaitGroup // copying goroutines

	mu    sync.Mutex
	conns []*conn // in the order in which they came
	// delay is that of every piece of every connection, in nanoseconds.
	delay atomic.Int64
}

// conn is a connection through the proxy.
type conn struct {
	near, far *net.TCPConn // to who dials, and to the target
	end       sync.Once
	ended     chan struct{}
	forth     gate // from near to far
	back      gate
}

// gate lets bytes of one direction through, or holds them back, or loses them.
type gate struct {
	mu    sync.Mutex
	open  *sync.Cond
	shut  bool
	loses bool
}

func (g *gate) init() { g.open = sync.NewCond(&g.mu) }

// pass waits while the gate is shut, and reports whether bytes may go on.
func (g *gate) pass() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut && !g.loses {
		g.open.Wait()
	}
	return !g.loses
}

// hold shuts the gate or opens it again.
func (g *gate) hold(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.open.Broadcast()
}

// lose loses all further bytes: a stream with a hole would be another fault.
func (g *gate) lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loses = true
	g.open.Broadcast()
}

// NewProxy listens on a host and forwards to an address.
func NewProxy(t testing.TB, host, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: l.Addr().String(), target: target, listener: l}
	p.open.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.open.Go(func() { p.serve(near.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(near *net.TCPConn) {
	far, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil { // nobody listens: who dials gets a reset, as without a proxy
		near.SetLinger(0)
		near.Close()
		return
	}
	c := &conn{near: near, far: far.(*net.TCPConn), ended: make(chan struct{})}
	c.forth.init()
	c.back.init()
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(c, c.far, c.near, &c.forth) })
	both.Go(func() { p.copy(c, c.near, c.far, &c.back) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.conns {
		if other == c {
			p.conns = append(p.conns[:i], p.conns[i+1:]...)
			break
		}
	}
}

// copy forwards one direction until either end is gone. A reset or the end of the target's
// process reaches the other end as a reset.
func (p *Proxy) copy(c *conn, to, from *net.TCPConn, g *gate) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if d := time.Duration(p.delay.Load()); d > 0 {
				select {
				case <-time.After(d):
				case <-c.ended:
				}
			}
			if g.pass() {
				if _, err := to.Write(buf[:n]); err != nil {
					c.cut(true)
					return
				}
			}
		}
		if err != nil {
			c.cut(err != io.EOF)
			return
		}
	}
}

// cut closes both ends, with a reset or without.
func (c *conn) cut(reset bool) {
	c.end.Do(func() {
		close(c.ended)
		if reset {
			c.near.SetLinger(0)
			c.far.SetLinger(0)
		}
		c.near.Close()
		c.far.Close()
		c.forth.lose()
		c.back.lose()
	})
}

// pick are the connections that a number chooses: one, or all if it is negative.
func (p *Proxy) pick(which int) []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if which < 0 {
		return append([]*conn(nil), p.conns...)
	}
	if len(p.conns) == 0 {
		return nil
	}
	return []*conn{p.conns[which%len(p.conns)]}
}

// Conns is how many connections are open.
func (p *Proxy) Conns() int { return len(p.pick(-1)) }

// Cut resets a connection, or all if which is negative. It returns how many.
func (p *Proxy) Cut(which int) int {
	list := p.pick(which)
	for _, c := range list {
		c.cut(true)
	}
	return len(list)
}

// HalfOpen loses all further bytes of one direction of a connection: forth is from who has
// dialled to the node. The other direction goes on, and nobody gets a reset.
func (p *Proxy) HalfOpen(which int, forth bool) int {
	list := p.pick(which)
	for _, c := range list {
		if forth {
			c.forth.lose()
		} else {
			c.back.lose()
		}
	}
	return len(list)
}

// Freeze stops both directions of a connection until thaw is called. No byte is lost.
func (p *Proxy) Freeze(which int) (n int, thaw func()) {
	list := p.pick(which)
	set := func(shut bool) {
		for _, c := range list {
			c.forth.hold(shut)
			c.back.hold(shut)
		}
	}
	set(true)
	return len(list), func() { set(false) }
}

// Slow delays every piece of every connection; 0 ends it.
func (p *Proxy) Slow(delay time.Duration) { p.delay.Store(int64(delay)) }

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut(-1)
	p.open.Wait()
}
