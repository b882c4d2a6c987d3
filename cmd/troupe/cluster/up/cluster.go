package up

import (
	"context"
	"crypto/tls"
	"net/http"
	"runtime"
	"time"

	"github.com/rs/zerolog"
)

const (
	// closing is how long a node may take to end after drain-timeout: it aborts what is
	// left, and waits for its device.
	closing = 15 * time.Second
	// Between two questions to a node whether it is ready.
	often, seldom = 20 * time.Millisecond, 250 * time.Millisecond
	startingLong  = 5 * time.Second // then seldom
	answerIn      = 2 * time.Second // limit of one question
)

// cluster runs the processes of the nodes. Its fields belong to the goroutine of run.
type cluster struct {
	keeper    // its nodes have the same indices
	binary    string
	specs     []spec
	processes []*process
	out       *output
	log       zerolog.Logger
	client    *http.Client
	happened  chan happening
	done      chan struct{}      // closed at the end of run
	allReady  func([]spec) error // called once, when every node is ready
}

// happening is something about a node: its process got ready, or has ended.
type happening struct {
	node  int
	ready *process // nil: it has ended
	cause error    // of the end
}

func newCluster(binary string, nodes []spec, drain time.Duration, out *output, log zerolog.Logger) *cluster {
	c := &cluster{binary: binary, specs: nodes, processes: make([]*process, len(nodes)), out: out, log: log, happened: make(chan happening), done: make(chan struct{})}
	c.patience = drain + closing
	for i := range nodes {
		c.keeper.nodes = append(c.keeper.nodes, kept{name: nodes[i].Name, gateway: nodes[i].Role == "gateway"})
		out.width = max(out.width, len(nodes[i].Name))
	}
	// The nodes are this binary's own, on this machine: whether their certificates have
	// its address does not matter here.
	c.client = &http.Client{Timeout: answerIn, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return c
}

// run runs the cluster until stop ends, or it gives up. When now is closed, it kills
// every process.
func (c *cluster) run(stop context.Context, now <-chan struct{}) error {
	// The kernel kills a child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	c.carryOut(c.begin())
	stopped := stop.Done()
	for !c.over() {
		timer.Stop()
		if at, ok := c.next(); ok {
			timer.Reset(time.Until(at))
		}
		select {
		case h := <-c.happened:
			if err := c.handle(h); err != nil {
				c.carryOut(c.stop(time.Now(), err))
			}
		case <-timer.C:
			c.carryOut(c.tick(time.Now()))
		case <-stopped:
			stopped = nil
			c.log.Info().Msg("stopping the cluster: gateways first, then engines")
			c.carryOut(c.stop(time.Now(), nil))
		case <-now:
			now = nil
			c.carryOut(c.killAll(time.Now()))
		}
	}
	return c.cause
}

// handle returns an error that ends the cluster.
func (c *cluster) handle(h happening) error {
	n := &c.keeper.nodes[h.node]
	if h.ready == nil {
		c.end(h.node, h.cause)
		return nil
	}
	if !n.up || h.ready != c.processes[h.node] {
		return nil // it has ended in the meantime
	}
	again := n.settled
	c.ready(h.node)
	switch {
	case again:
		c.log.Info().Str("node", n.name).Int("pid", c.specs[h.node].PID).Msg("the node is ready again")
	case c.keeper.settled() && c.stage == running:
		return c.allReady(c.specs)
	}
	return nil
}

// end tells the keeper that a process has ended, or could not be started.
func (c *cluster) end(i int, cause error) {
	now, serving := time.Now(), c.stage == running
	orders := c.ended(i, now, cause)
	if at := c.keeper.nodes[i].due; serving && c.stage == running {
		c.log.Warn().Str("node", c.specs[i].Name).AnErr("cause", cause).Dur("restart_in_ms", at.Sub(now)).Msg("the process of the node has ended; restarting it")
	}
	c.carryOut(orders)
}

func (c *cluster) carryOut(orders []order) {
	for _, o := range orders {
		p := c.processes[o.node] // nil if it could not be started
		switch {
		case o.do == start:
			c.start(o.node)
		case o.do == terminate && p != nil:
			p.terminate()
		case o.do == kill && p != nil:
			c.log.Warn().Str("node", c.specs[o.node].Name).Msg("killing the node")
			p.kill()
		}
	}
}

// start starts the process of a node, and asks it whether it is ready.
func (c *cluster) start(i int) {
	n := &c.specs[i]
	ended := func(cause error) { c.tell(happening{node: i, cause: cause}) }
	p, err := run(c.binary, n, func(line string) { c.out.line(n.Name, line) }, ended)
	if c.processes[i] = p; err != nil {
		go ended(err)
		return
	}
	n.PID = p.cmd.Process.Pid
	go func() {
		if awaitReady(c.client, n.URL, p.quit) {
			c.tell(happening{node: i, ready: p})
		}
	}()
}

func (c *cluster) tell(h happening) {
	select {
	case c.happened <- h:
	case <-c.done:
	}
}

// awaitReady reports whether a node got ready before its process ended.
func awaitReady(client *http.Client, url string, quit <-chan struct{}) bool {
	began := time.Now()
	next := time.NewTicker(often)
	defer next.Stop()
	for {
		if answer, err := client.Get(url + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return true
			}
		}
		if time.Since(began) > startingLong {
			next.Reset(seldom)
		}
		select {
		case <-quit:
			return false
		case <-next.C:
		}
	}
}
