package messages

// RequestID names one engine request (one choice of one prompt). Intake hands
// the ids out in arrival order and never uses one twice within a process; the
// id that a user chose is an attribute of the request, never a key in here.
type RequestID uint64

// CallID names one call of a client at the edge. A call carries one or more
// engine requests (n choices, lists of prompts).
type CallID uint64

// EngineID names one of the engines behind an intake, from 0.
type EngineID uint16

// Epoch counts the incarnations of an engine's disposable actors, from 1. The
// shell ignores messages of any other epoch than its own.
type Epoch uint32

// PlanID counts the plans of a batch former within one epoch, from 1.
type PlanID uint64

// StepID counts the launched steps of a batch former within one epoch, from 1.
// Zero means "no step yet".
type StepID uint64

// Row is an index into the request-to-token table (the first level of the KV
// pools): one row per admitted request, 0 <= Row < max running requests.
type Row int32

// Page is a page of the KV pool (the second level): with page size P it covers
// the slots [Page*P, Page*P+P). Page 0 absorbs the writes of padding and is
// never handed out, so the usable pages are 1..Total.
type Page int32

// NodeID is the handle of a radix node that its holder has locked. RootNode,
// the zero value, stands for "nothing matched, nothing to unlock". A handle
// stays good while it is locked, also when the node is split: the part with
// the deeper tokens keeps the id.
type NodeID uint64

// RootNode is the always locked root of the radix tree.
const RootNode NodeID = 0

// Ticket pairs an administrative question with its answer. Intake hands it out.
type Ticket uint64

// Actor is the role of a participant. Messages and effects name roles and
// ids; only the wiring knows which process id plays which role in an epoch.
type Actor uint8

// The roles, in the order of a request's way through the engine.
const (
	Client Actor = iota // an HTTP handler or the command line
	Intake
	Queue
	Former // the batch former
	Cache
	Allocator
	Runner
	Engine
	Observer // whoever listens to what the engine does; an engine may have none
)

var actorNames = [...]string{"client", "intake", "queue", "former", "cache", "allocator", "runner", "engine", "observer"}

// String gives the name used in logs, metrics and the protocol table.
func (a Actor) String() string {
	if int(a) < len(actorNames) {
		return actorNames[a]
	}
	return "unknown"
}
