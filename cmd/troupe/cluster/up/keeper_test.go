package up

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	zero    = time.Unix(1000, 0)
	errDied = errors.New("signal: killed")
)

// settledKeeper has a gateway and two engines, all ready.
func settledKeeper() *keeper {
	k := &keeper{nodes: []kept{{name: "gateway-1", gateway: true}, {name: "engine-1"}, {name: "engine-2"}}, patience: time.Minute}
	k.begin()
	for i := range k.nodes {
		k.ready(i)
	}
	return k
}

func wantOrders(t *testing.T, what string, got []order, want ...order) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: orders %v, want %v", what, got, want)
	}
}

func wantNext(t *testing.T, k *keeper, want time.Time) {
	t.Helper()
	if at, ok := k.next(); !ok || !at.Equal(want) {
		t.Errorf("the next tick is %v, %v, want %v", at, ok, want)
	}
}

func TestKeeperRestartsOneForOne(t *testing.T) {
	k := settledKeeper()
	if _, ok := k.next(); ok || k.over() {
		t.Error("a quiet cluster has something to do")
	}
	wantOrders(t, "an end", k.ended(1, zero, errDied))
	wantNext(t, k, zero.Add(firstBackoff))
	wantOrders(t, "too early", k.tick(zero.Add(firstBackoff-1)))
	wantOrders(t, "due", k.tick(zero.Add(firstBackoff)), order{1, start})
	wantOrders(t, "again", k.tick(zero.Add(time.Hour)))
	// A second end soon after waits twice as long. One of another node does not.
	now := zero.Add(time.Second)
	k.ended(1, now, errDied)
	wantNext(t, k, now.Add(2*firstBackoff))
	k.ended(2, now, errDied)
	wantNext(t, k, now.Add(firstBackoff))
	wantOrders(t, "both", k.tick(now.Add(time.Second)), order{1, start}, order{2, start})
}

func TestKeeperGivesUp(t *testing.T) {
	k := settledKeeper()
	now := zero
	die := func(i int) []order {
		orders := k.ended(i, now, errDied)
		if at, ok := k.next(); ok && k.stage == running {
			now = at
			k.tick(now)
		}
		return orders
	}
	for range maxRestarts {
		wantOrders(t, "within the limit", die(1))
	}
	wantOrders(t, "of another node", die(2))
	wantOrders(t, "beyond the limit", die(1), order{0, terminate})
	if k.cause == nil || !errors.Is(k.cause, errDied) || !strings.Contains(k.cause.Error(), "engine-1 has ended again after 5 restarts within 1m0s") {
		t.Error(k.cause)
	}
	wantOrders(t, "the gateway", k.ended(0, now, nil), order{2, terminate})
	wantOrders(t, "the engine", k.ended(2, now, nil))
	if !k.over() {
		t.Error("the cluster is not over")
	}
}

// Restarts that are more than a minute ago do not count.
func TestKeeperForgetsOldRestarts(t *testing.T) {
	k := settledKeeper()
	for now := zero; now.Before(zero.Add(time.Hour)); now = now.Add(restartWindow/maxRestarts + firstBackoff<<maxRestarts) {
		wantOrders(t, "an end", k.ended(1, now, errDied))
		at, _ := k.next()
		wantOrders(t, "a restart", k.tick(at), order{1, start})
	}
}

func TestKeeperStopsIfANodeCannotStart(t *testing.T) {
	k := &keeper{nodes: []kept{{name: "gateway-1", gateway: true}, {name: "engine-1"}, {name: "engine-2"}}, patience: time.Minute}
	wantOrders(t, "the begin", k.begin(), order{0, start}, order{1, start}, order{2, start})
	k.ready(0)
	if k.settled() {
		t.Error("settled, with one node of three")
	}
	wantOrders(t, "a failure", k.ended(2, zero, errDied), order{0, terminate})
	wantOrders(t, "another", k.ended(1, zero, errors.New("other")))
	wantOrders(t, "the gateway", k.ended(0, zero, nil))
	if !k.over() || k.cause == nil || k.cause.Error() != "engine-2 cannot start: signal: killed" {
		t.Error(k.over(), k.cause)
	}
}

func TestKeeperStopsGatewaysFirst(t *testing.T) {
	k := settledKeeper()
	k.ended(2, zero, errDied)
	wantOrders(t, "stop", k.stop(zero, nil), order{0, terminate})
	wantOrders(t, "the restart that was due", k.tick(zero.Add(time.Second)))
	wantOrders(t, "stop again", k.stop(zero, errDied))
	wantNext(t, k, zero.Add(time.Minute))
	wantOrders(t, "in time", k.tick(zero.Add(time.Minute-1)))
	wantOrders(t, "too long", k.tick(zero.Add(time.Minute)), order{0, kill})
	wantOrders(t, "once", k.tick(zero.Add(2*time.Minute)))
	if _, ok := k.next(); ok {
		t.Error("a tick is due, but everything was done")
	}
	now := zero.Add(2 * time.Minute)
	wantOrders(t, "the gateway", k.ended(0, now, nil), order{1, terminate})
	wantNext(t, k, now.Add(time.Minute))
	wantOrders(t, "the engine takes too long", k.tick(now.Add(time.Minute)), order{1, kill})
	wantOrders(t, "the engine", k.ended(1, now, nil))
	if !k.over() || k.cause != nil {
		t.Error(k.over(), k.cause)
	}
}

func TestKeeperKillsAtOnce(t *testing.T) {
	k := settledKeeper()
	k.stop(zero, nil)
	wantOrders(t, "kill", k.killAll(zero), order{0, kill}, order{1, kill}, order{2, kill})
	wantOrders(t, "again", k.killAll(zero))
	if k.cause != errKilled {
		t.Error(k.cause)
	}
}

// In any order of events every started process is ended, none is started twice or after
// the end has begun, and the cluster ends.
func TestKeeperInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &keeper{patience: time.Minute}
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			k.nodes = append(k.nodes, kept{name: "n", gateway: i == 0 || rapid.Bool().Draw(t, "gateway")})
		}
		up, now := make([]bool, len(k.nodes)), zero
		do := func(orders []order) {
			for _, o := range orders {
				switch {
				case o.do == start && (up[o.node] || k.stage != running):
					t.Fatalf("node %d is started, up %v, stage %d", o.node, up[o.node], k.stage)
				case o.do != start && !up[o.node]:
					t.Fatalf("node %d has ended, but gets order %d", o.node, o.do)
				}
				up[o.node] = up[o.node] || o.do == start
			}
		}
		end := func(i int) {
			if up[i] {
				up[i] = false
				do(k.ended(i, now, errDied))
			}
		}
		do(k.begin())
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			i := rapid.IntRange(0, len(up)-1).Draw(t, "node")
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0, 1, 2:
				end(i)
			case 3, 4, 5:
				if up[i] {
					k.ready(i)
				}
			case 6, 7, 8:
				now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
				do(k.tick(now))
			default:
				do(k.stop(now, nil))
			}
		}
		do(k.stop(now, nil))
		for range 3 { // gateways, engines, the end
			for i := range up {
				end(i)
			}
		}
		if !k.over() {
			t.Fatalf("not over: %+v", k)
		}
	})
}
