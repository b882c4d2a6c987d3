package clustertest

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	KillEngine   Kind = "kill an engine"       // kill -9, and start it again
	PauseEngine  Kind = "pause an engine"      // SIGSTOP, SIGCONT
	PauseGateway Kind = "pause a gateway"      // its clients wait
	Reset        Kind = "reset a connection"   // between nodes
	HalfOpen     Kind = "half open connection" // one direction loses everything
	Freeze       Kind = "freeze a connection"  // nothing gets through for a while
	Slow         Kind = "slow connections"     // of a node
	CutOff       Kind = "cut off an engine"    // all its packets are lost; needs a Network
	RestartAll   Kind = "restart all engines"  // in turn, with SIGTERM
	KillGateway  Kind = "kill a gateway"       // only its connections may break
	CrashActor   Kind = "crash an actor"       // through the API; needs debug-chaos
)

// Fault is one fault of a plan. Numbers choose among what there is at that time.
type Fault struct {
	At    time.Duration // since the start
	Kind  Kind
	Node  int           // index of the engine, gateway or proxied node
	For   time.Duration // how long it lasts
	Which int           // of the node's connections or actors
	Forth bool          // the direction that a half-open connection loses
}

func (f Fault) String() string {
	return fmt.Sprintf("%v: %s %d for %v (%d, %t)", f.At.Round(time.Millisecond), f.Kind, f.Node, f.For.Round(time.Millisecond), f.Which, f.Forth)
}

// weights are how often faults are drawn.
var weights = []struct {
	kind   Kind
	weight int
	most   time.Duration // the longest one
}{
	{KillEngine, 5, time.Second}, {PauseEngine, 4, 5 * time.Second}, {PauseGateway, 1, time.Second}, {Reset, 5, 0}, {HalfOpen, 4, 0},
	{Freeze, 3, 5 * time.Second}, {Slow, 2, 5 * time.Second}, {CutOff, 4, 5 * time.Second}, {RestartAll, 1, 0}, {KillGateway, 1, time.Second},
	{CrashActor, 4, 0},
}

// Plan draws faults from a seed, with every between them on average. They may overlap.
// Every kind comes once before any comes twice.
func Plan(seed uint64, length, every time.Duration) (plan []Fault) {
	r := rand.New(rand.NewPCG(seed, 0xc4a05))
	var bag []int
	for i := range weights {
		bag = append(bag, i)
	}
	first := r.Perm(len(bag))
	for i := range weights {
		for range weights[i].weight - 1 {
			bag = append(bag, i)
		}
	}
	for at := time.Duration(0); ; {
		at += every/10 + time.Duration(r.Int64N(int64(every*9/5)))
		if at >= length {
			return plan
		}
		w := weights[bag[r.IntN(len(bag))]]
		if len(plan) < len(first) {
			w = weights[first[len(plan)]]
		}
		f := Fault{At: at, Kind: w.kind, Node: r.IntN(60), Which: r.IntN(1 << 20), Forth: r.IntN(2) == 0}
		if w.most > 0 {
			f.For = 100*time.Millisecond + time.Duration(r.Int64N(int64(w.most)))
		}
		plan = append(plan, f)
	}
}
