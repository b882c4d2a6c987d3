// Package report has what people see of a cluster, and what they may ask it to do: the JSON
// of /v1/cluster and of the commands, and what nodes tell each other for it.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The states of a node.
const (
	Ready    = "ready"
	Draining = "draining" // takes nothing new
	Stopped  = "stopped"  // by an operator
	Failed   = "failed"   // took itself out, because its epochs end without a token
	Lost     = "lost"     // does not answer
	Leaving  = "leaving"  // shuts down; only in its last hello
)

// Node is a process of the cluster.
type Node struct {
	Name        string `json:"name"`
	Role        string `json:"role"` // gateway, engine or both; single outside of a cluster
	Incarnation string `json:"incarnation"`
	PID         int    `json:"pid"`
	URL         string `json:"url"` // of its API
	State       string `json:"state"`
	Model       string `json:"model,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// ModelHash is equal for engines to which the same requests can go: of weights, tokenizer,
	// chat template, defaults and context. "" while it is not known.
	ModelHash string `json:"model_hash,omitempty"`
	// Unused is why the node that was asked does not use this one; "" if it does, or does not know.
	Unused      string   `json:"unused,omitempty"`
	Epoch       uint32   `json:"epoch"`
	Restarts    int      `json:"restarts"` // of its actors, since the process began
	Running     int      `json:"running"`
	Waiting     int      `json:"waiting"`
	KVUsed      int      `json:"kv_used"`  // tokens
	KVTotal     int      `json:"kv_total"` // tokens
	LastFailure *Failure `json:"last_failure"`
}

// Failure is the last one of an actor or a node.
type Failure struct {
	At    time.Time `json:"at"`
	Actor string    `json:"actor,omitempty"` // path
	Cause string    `json:"cause"`
}

// The states of an actor.
const (
	Idle       = "idle"
	Busy       = "busy"
	Restarting = "restarting"
	// Stopped as above
)

// Actor is one actor of a node. Path is the same in every epoch.
type Actor struct {
	Node        string   `json:"node"`
	Path        string   `json:"path"`
	Role        string   `json:"role"`
	Peer        string   `json:"peer,omitempty"` // the node at the other end of a link
	State       string   `json:"state"`
	Mailbox     int      `json:"mailbox"`      // messages that wait
	MailboxPeak int      `json:"mailbox_peak"` // the most that have waited
	Handled     uint64   `json:"handled"`
	Restarts    int      `json:"restarts"`
	BusyMS      float64  `json:"busy_ms"`
	LastFailure *Failure `json:"last_failure"`
}

// Event is something that happened to the cluster, as the node that was asked learned it.
type Event struct {
	Number uint64    `json:"number"` // of the node that was asked, without gaps
	At     time.Time `json:"at"`
	Node   string    `json:"node"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text"`
	Actor  string    `json:"actor,omitempty"`
	// PauseMS is how long moved requests have waited for their next token.
	PauseMS float64 `json:"pause_ms,omitempty"`
	// Operator is who has asked for an action.
	Operator string `json:"operator,omitempty"`
}

// The kinds of events. Who comes and goes is each node's own view; events of the second
// group are told to all nodes.
const (
	EventJoined      = "joined"
	EventLeft        = "left" // it has said that it shuts down
	EventLost        = "lost"
	EventUnreachable = "unreachable" // no node answers at an address
	EventLinked      = "linked"
	EventUnlinked    = "unlinked"
	EventModel       = "model" // a gateway serves it now

	EventEpoch   = "epoch"   // one begins or ends
	EventPanic   = "panic"   // of an actor that has restarted
	EventMoved   = "moved"   // requests continue on another engine
	EventAction  = "action"  // of an operator
	EventState   = "state"   // of a node
	EventRefused = "refused" // another node, or its model

	EventGap = "gap" // events are missing
)

// The actions.
const (
	Drain   = "drain"
	Undrain = "undrain"
	Stop    = "stop"
	Start   = "start"
	Restart = "restart"
	Crash   = "crash" // for tests, with debug-chaos
)

// Actions lists them as in the help.
var Actions = []string{Drain, Undrain, Stop, Start, Restart, Crash}

// Action is what an operator asks for.
type Action struct {
	Action string `json:"action"`
	Target string `json:"target"` // NODE or NODE/PATH
	Reason string `json:"reason"`
	Force  bool   `json:"force"` // also if no other engine of the model is left
	// Operator is set by the node that is asked.
	Operator string `json:"operator,omitempty"`
}

// Outcome is the answer: what the action came to.
type Outcome struct {
	Node    string `json:"node"`
	Path    string `json:"path,omitempty"`
	Outcome string `json:"outcome"` // a sentence
}

// Abort ends requests on all gateways, as AbortRequests of package messages does on one.
type Abort struct {
	UserID   string `json:"user_id"`
	Owner    string `json:"owner"` // a digest of the key
	AnyOwner bool   `json:"any_owner"`
	All      bool   `json:"all"`
}

// Split returns the node and the path of a target; the path is "" for a node.
func (a *Action) Split() (node, path string) {
	node, path, _ = strings.Cut(a.Target, "/")
	return node, path
}

// Error is why a question or an action was refused. Text names the remedy.
type Error struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Text }

// The kinds of errors.
const (
	Invalid     = "invalid"     // no node could do it
	Unknown     = "unknown"     // there is no such target
	InProgress  = "in_progress" // another operator acts on the target
	Refused     = "refused"     // not now, not here, or not without force
	Unreachable = "unreachable" // the node does not answer
	Unfinished  = "unfinished"  // it was tried
)

const (
	maxReason   = 500
	maxTarget   = 300
	maxOperator = 300
)

// Check refuses an action that no node could carry out.
func (a *Action) Check() error {
	node, path := a.Split()
	switch {
	case !slices.Contains(Actions, a.Action):
		return fmt.Errorf("unknown action %.50q; use one of %s", a.Action, strings.Join(Actions, ", "))
	case node == "" || len(a.Target) > maxTarget || strings.HasSuffix(a.Target, "/"):
		return fmt.Errorf("target is %.100q; it must be a node, or NODE/PATH for an actor; troupe cluster actors lists them", a.Target)
	case strings.TrimSpace(a.Reason) == "":
		return fmt.Errorf("reason is missing; say why, for those who read the events")
	case len(a.Reason) > maxReason:
		return fmt.Errorf("reason has %d bytes; at most %d are allowed", len(a.Reason), maxReason)
	case len(a.Operator) > maxOperator: // of another node
		return fmt.Errorf("operator has %d bytes; at most %d are allowed", len(a.Operator), maxOperator)
	case path != "" && a.Action != Restart && a.Action != Crash:
		return fmt.Errorf("%s is for nodes; an actor can only be restarted", a.Action)
	case path == "" && a.Action == Crash:
		return fmt.Errorf("crash is for actors; the target must be NODE/PATH; troupe cluster actors lists them")
	}
	return nil
}
