package up

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	maxRestarts   = 5           // of one node within restartWindow; the next end gives up
	restartWindow = time.Minute // for maxRestarts
	firstBackoff  = 100 * time.Millisecond
)

// verb is what the keeper wants done with a process.
type verb uint8

const (
	start     verb = iota + 1
	terminate      // ask it to drain and end
	kill
)

// order is one of them, for the node with this index.
type order struct {
	node int
	do   verb
}

// stage is how far the cluster is on its way to its end.
type stage uint8

const (
	running  stage = iota
	gateways       // end, so that their streams finish while engines compute
	engines        // end; the gateways have
)

// keeper decides when the processes of a cluster start and end. It restarts those that
// end by themselves, one for one, and stops everything if a node does not start or ends
// too often. It has no clock and starts nothing: methods return orders, and next says
// when tick is due.
type keeper struct {
	nodes    []kept
	patience time.Duration // from terminate to kill, for gateways and then for engines

	stage stage
	limit time.Time // of the stage
	cause error     // why the cluster ends; nil if it was asked to
}

// kept is a node as the keeper sees it.
type kept struct {
	name     string
	gateway  bool
	up       bool // its process has been started and has not ended
	settled  bool // it has been ready
	killed   bool
	restarts []time.Time // within restartWindow
	due      time.Time   // of the next start; zero: none
}

// begin starts every node.
func (k *keeper) begin() (orders []order) {
	for i := range k.nodes {
		orders = append(orders, k.start(i))
	}
	return orders
}

func (k *keeper) start(i int) order {
	k.nodes[i].up, k.nodes[i].due = true, time.Time{}
	return order{i, start}
}

// ready notes that a node serves. From now on its process is restarted when it ends.
func (k *keeper) ready(i int) { k.nodes[i].settled = true }

// settled reports whether every node has been ready.
func (k *keeper) settled() bool {
	return !slices.ContainsFunc(k.nodes, func(n kept) bool { return !n.settled })
}

// ended notes that a process has ended, or could not be started.
func (k *keeper) ended(i int, now time.Time, cause error) []order {
	n := &k.nodes[i]
	n.up = false
	if k.stage != running {
		return k.advance(now)
	}
	n.restarts = slices.DeleteFunc(n.restarts, func(at time.Time) bool { return now.Sub(at) >= restartWindow })
	switch {
	case !n.settled:
		return k.stop(now, fmt.Errorf("%s cannot start: %w", n.name, cause))
	case len(n.restarts) == maxRestarts:
		return k.stop(now, fmt.Errorf("%s has ended again after %d restarts within %s: %w", n.name, maxRestarts, restartWindow, cause))
	}
	n.due = now.Add(firstBackoff << len(n.restarts))
	n.restarts = append(n.restarts, n.due)
	return nil
}

// stop ends the cluster: the gateways, then the engines. Later causes do not count.
func (k *keeper) stop(now time.Time, cause error) []order {
	if k.stage != running {
		return nil
	}
	k.cause = cause
	for i := range k.nodes {
		k.nodes[i].due = time.Time{}
	}
	return k.enter(gateways, now)
}

// enter begins a stage, or the next one if the stage has nothing to end.
func (k *keeper) enter(s stage, now time.Time) (orders []order) {
	k.stage, k.limit = s, now.Add(k.patience)
	for i := range k.nodes {
		if n := &k.nodes[i]; n.up && n.gateway == (s == gateways) {
			orders = append(orders, order{i, terminate})
		}
	}
	if orders == nil && s == gateways {
		return k.enter(engines, now)
	}
	return orders
}

// advance goes on to the engines when the last gateway has ended.
func (k *keeper) advance(now time.Time) []order {
	if k.stage != gateways || slices.ContainsFunc(k.nodes, func(n kept) bool { return n.gateway && n.up }) {
		return nil
	}
	return k.enter(engines, now)
}

// killAll ends the cluster at once.
func (k *keeper) killAll(now time.Time) []order {
	k.stop(now, nil)
	k.cause = cmp.Or(k.cause, errKilled)
	return k.kill(func(*kept) bool { return true })
}

var errKilled = errors.New("killed every node at the second signal; open requests were not finished")

func (k *keeper) kill(which func(*kept) bool) (orders []order) {
	for i := range k.nodes {
		if n := &k.nodes[i]; n.up && !n.killed && which(n) {
			n.killed = true
			orders = append(orders, order{i, kill})
		}
	}
	return orders
}

// tick does what is due: restarts, and the end of processes that do not end.
func (k *keeper) tick(now time.Time) (orders []order) {
	if k.stage != running {
		if now.Before(k.limit) {
			return nil
		}
		return k.kill(func(n *kept) bool { return n.gateway == (k.stage == gateways) })
	}
	for i := range k.nodes {
		if due := k.nodes[i].due; !due.IsZero() && !now.Before(due) {
			orders = append(orders, k.start(i))
		}
	}
	return orders
}

// next returns when tick has something to do; false if nothing is due.
func (k *keeper) next() (at time.Time, ok bool) {
	if k.stage != running {
		waits := slices.ContainsFunc(k.nodes, func(n kept) bool { return n.up && !n.killed && n.gateway == (k.stage == gateways) })
		return k.limit, waits
	}
	for i := range k.nodes {
		if due := k.nodes[i].due; !due.IsZero() && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok
}

// over reports whether the cluster has ended.
func (k *keeper) over() bool {
	return k.stage != running && !slices.ContainsFunc(k.nodes, func(n kept) bool { return n.up })
}
