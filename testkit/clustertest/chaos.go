package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Chaos carries out faults on a cluster.
type Chaos struct {
	c     *Cluster
	start time.Time
	// Crashes tells whether the nodes have the action crash: only then actors crash.
	Crashes bool

	mu      sync.Mutex
	busy    map[*Node]*sync.Mutex // held by the fault of a process
	done    map[Kind]int
	skipped map[Kind]int
	crashed map[string]int // by path
	errs    []error
}

// NewChaos prepares faults for a cluster.
func NewChaos(c *Cluster) *Chaos {
	status, _ := c.Gateways[0].Get("/v1/cluster")
	x := &Chaos{c: c, Crashes: status == http.StatusOK, busy: map[*Node]*sync.Mutex{}, done: map[Kind]int{}, skipped: map[Kind]int{}, crashed: map[string]int{}}
	for _, n := range c.Nodes() {
		x.busy[n] = &sync.Mutex{}
	}
	return x
}

// Run carries out a plan, and returns when all faults are over.
func (x *Chaos) Run(ctx context.Context, plan []Fault) error {
	x.start = time.Now()
	var all sync.WaitGroup
	for _, f := range plan {
		select {
		case <-time.After(time.Until(x.start.Add(f.At))):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() { x.carryOut(f) })
	}
	all.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.errs) > 0 {
		return fmt.Errorf("%d faults went wrong, the first one: %w", len(x.errs), x.errs[0])
	}
	return nil
}

// Counts are the faults by kind.
func (x *Chaos) Counts() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var b strings.Builder
	for _, w := range weights {
		fmt.Fprintf(&b, "\n  %-22s %4d", w.kind, x.done[w.kind])
		if n := x.skipped[w.kind]; n > 0 {
			fmt.Fprintf(&b, " (%d more had nothing to break)", n)
		}
	}
	if len(x.crashed) > 0 {
		fmt.Fprintf(&b, "\n  actors that crashed: %v", x.crashed)
	}
	return b.String()
}

// Missing are the kinds that could have come and never did.
func (x *Chaos) Missing() (kinds []Kind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range weights {
		if x.done[w.kind] == 0 && (w.kind != CutOff || x.c.opt.Network != nil) && (w.kind != CrashActor || x.Crashes) {
			kinds = append(kinds, w.kind)
		}
	}
	return kinds
}

// take reserves a node for a fault of its process, after those that have it now.
func (x *Chaos) take(list []*Node, index int) *Node {
	n := list[index%len(list)]
	x.mu.Lock()
	lock := x.busy[n]
	x.mu.Unlock()
	lock.Lock()
	return n
}

func (x *Chaos) release(n *Node) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy[n].Unlock()
}

func (x *Chaos) carryOut(f Fault) {
	n, err := x.try(f)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.errs = append(x.errs, fmt.Errorf("%v: %w", f, err))
	case n == 0:
		x.skipped[f.Kind]++
	default:
		x.done[f.Kind] += n
	}
}

// try carries a fault out and returns how many things it broke.
func (x *Chaos) try(f Fault) (int, error) {
	switch f.Kind {
	case KillEngine:
		return x.kill(x.c.Engines, f)
	case KillGateway:
		return x.kill(x.c.Gateways, f)
	case PauseEngine:
		return x.pause(x.c.Engines, f)
	case PauseGateway:
		return x.pause(x.c.Gateways, f)
	case RestartAll:
		return x.restartAll()
	case CutOff:
		return x.cutOff(f)
	case CrashActor:
		return x.crash(f)
	}
	p := x.proxy(f.Node)
	if p == nil {
		return 0, nil
	}
	switch f.Kind {
	case Reset:
		return p.Cut(f.Which), nil
	case HalfOpen:
		return p.HalfOpen(f.Which, f.Forth), nil
	case Freeze:
		n, thaw := p.Freeze(f.Which)
		time.Sleep(f.For)
		thaw()
		return n, nil
	case Slow:
		p.Slow(10*time.Millisecond + f.For/50)
		time.Sleep(f.For)
		p.Slow(0)
		return 1, nil
	}
	return 0, fmt.Errorf("unknown fault %q", f.Kind)
}

// proxy is one of the nodes' proxies.
func (x *Chaos) proxy(index int) *Proxy {
	var list []*Proxy
	for _, n := range x.c.Nodes() {
		if n.Proxy != nil {
			list = append(list, n.Proxy)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[index%len(list)]
}

func (x *Chaos) kill(list []*Node, f Fault) (int, error) {
	n := x.take(list, f.Node)
	defer x.release(n)
	n.Kill()
	time.Sleep(f.For)
	n.Start()
	return 1, waitReady(n)
}

// waitReady waits until a node that was started again is used: a gateway needs an engine.
func waitReady(n *Node) error {
	for end := time.Now().Add(patience); !n.Ready(); {
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready %v after its start", n.Name, patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (x *Chaos) pause(list []*Node, f Fault) (int, error) {
	n := x.take(list, f.Node)
	defer x.release(n)
	if err := n.Pause(); err != nil {
		return 0, err
	}
	time.Sleep(f.For)
	return 1, n.Continue()
}

// restartAll restarts all engines in turn, as a new version is rolled out.
func (x *Chaos) restartAll() (int, error) {
	for i := range x.c.Engines {
		n := x.take(x.c.Engines, i)
		err := n.Stop()
		if err == nil {
			n.Start()
			err = waitReady(n)
		}
		x.release(n)
		if err != nil {
			return 0, err
		}
	}
	return 1, nil
}

func (x *Chaos) cutOff(f Fault) (int, error) {
	if x.c.opt.Network == nil {
		return 0, nil
	}
	n := x.take(x.c.Engines, f.Node)
	defer x.release(n)
	if err := n.Place.Cut(); err != nil {
		return 0, err
	}
	time.Sleep(f.For)
	return 1, n.Place.Mend()
}

// crash lets an actor of any node panic at its next message.
func (x *Chaos) crash(f Fault) (int, error) {
	if !x.Crashes {
		return 0, nil
	}
	asked := x.take(x.c.Gateways, f.Node) // it must not be killed meanwhile
	defer x.release(asked)
	status, text := asked.Get("/v1/cluster/actors")
	var list struct {
		Actors []struct{ Node, Path string }
	}
	if err := json.Unmarshal([]byte(text), &list); status != http.StatusOK || err != nil {
		return 0, fmt.Errorf("/v1/cluster/actors answers %d %s", status, text)
	}
	if len(list.Actors) == 0 {
		return 0, nil
	}
	slices.SortFunc(list.Actors, func(a, b struct{ Node, Path string }) int {
		return strings.Compare(a.Node+"/"+a.Path, b.Node+"/"+b.Path)
	})
	a := list.Actors[f.Which%len(list.Actors)]
	status, text = asked.Post("/v1/cluster/actions", fmt.Sprintf(`{"action":"crash","target":%q,"reason":"chaos"}`, a.Node+"/"+a.Path))
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case status == http.StatusOK:
		x.crashed[a.Path]++
		return 1, nil
	case status >= 400 && status < 600: // its node has just gone
		return 0, nil
	}
	return 0, fmt.Errorf("crash of %s/%s: %d %s", a.Node, a.Path, status, text)
}
