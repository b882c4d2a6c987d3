package messages

import "time"

type ToIntake interface{ toIntake() }

// SubmitRequests is a client's call: all of its requests are accepted, or all are
// refused. The answer and the output come on Events.
type SubmitRequests struct {
	Call CallID
	// UserID is the id with which the user can abort the call (rid, or the id of
	// the answer); unique among the open calls of its Owner.
	UserID string
	// Owner identifies the client: a digest of its key, "" without keys.
	Owner string
	// Requests, at least one; moved. Events name them by their index.
	Requests []Submission
	// Events is the call's own channel, capacity >= 4. The client reads it until
	// it has a CallRefused, or a CallOutput with a Finish for every request.
	// Intake never blocks on it: a CallOutput marked Paused took the last free
	// place, and no more events come until the client sends ResumeOutput.
	Events chan<- CallEvent
}

// Submission is one choice of one prompt as the client sent it.
type Submission struct {
	Prompt    []int32         // frozen, not empty
	Params    *SamplingParams // frozen
	Stop      []string        // frozen; stop strings, none empty
	KeepStop  bool            // the matched stop string stays in the text
	Namespace string
	// Priority and Tenant are those of EngineRequest.
	Priority int32
	Tenant   string
	// Stream asks for output as it is produced; otherwise one CallOutput has all of it.
	Stream bool
	// KeepSpecial leaves special tokens in the text.
	KeepSpecial bool
	// Continues marks text that continues the prompt (completions), so that the
	// leading space of SentencePiece vocabularies is kept.
	Continues bool
	// After is -1, or the index of the request of the call that must have its first token
	// before this one enters the engine. So the first choice of a prompt fills the cache
	// for the others.
	After int
}

// AbortRequests ends calls: the Owner's call with the UserID, those of all owners with
// AnyOwner, or all calls. Clients get finish reason abort, or with ShuttingDown an error
// of kind RefusedDraining, which tells them to try another server.
type AbortRequests struct {
	UserID       string
	Owner        string
	AnyOwner     bool
	All          bool
	ShuttingDown bool
}

// DropCall says that a call's client has disconnected; its channel is no longer read.
type DropCall struct{ Call CallID }

// ResumeOutput says that a client has read up to an output marked Paused.
type ResumeOutput struct{ Call CallID }

// StepResults is the report of a batch former to intake about one step, or about
// requests that ended between steps. Its memory is pooled, so intake sends it back.
// Queue policies may read the same message, so its slices are frozen.
type StepResults struct {
	Header
	// Seq counts these messages within an epoch, from 1. A gap ends the epoch.
	Seq  uint64
	Step StepID // zero if there was no step
	// Admitted are the requests admitted since the last message; frozen. After a
	// retraction or a new epoch, a request may be listed again.
	Admitted []RequestID
	Prompts  []PromptResult // frozen; completed prefills
	Tokens   []TokenResult  // frozen; those of a request are consecutive, by position
	Ended    []RequestEnded // frozen; released requests
	// Computed is how many tokens of prompts the step has computed, also of retracted
	// requests. Only a portal of the same process reads it.
	Computed int
	// Fingerprint is of the engine's numerics, with several engines behind dispatch.
	Fingerprint string
}

// PromptResult reports a prompt at the step that completed its prefill. After a
// retraction or resubmission there is another one; intake keeps the first.
type PromptResult struct {
	ID           RequestID
	CachedTokens int                // prompt tokens that were cached
	Logprobs     []PositionLogprobs // frozen; from PromptLogprobStart on
}

type TokenResult struct {
	ID       RequestID
	Position int // index in the output, from 0
	Token    int32
	Logprobs *PositionLogprobs // frozen; nil unless asked for
}

// EndReason is why the engine released a request.
type EndReason uint8

const (
	EndEOS         EndReason = iota + 1 // the model's end token
	EndStopToken                        // one of the user's stop_token_ids
	EndLength                           // MaxTokens or the context is full
	EndCancelled                        // by FinishRequests
	EndFailed                           // no token may be sampled; Why has the cause
	EndGrammar                          // its grammar cannot be followed any further; Why has the cause
	EndInternal                         // its grammar was not followed, because of a bug; Why says so
	EndUnavailable                      // of dispatch only: no engine could take it for too long; Why says which
)

var endReasonNames = [...]string{"", "eos", "stop_token", "length", "cancelled", "failed", "grammar", "internal", "unavailable"}

// String gives the name used in logs and metrics.
func (r EndReason) String() string { return endReasonNames[r] }

// RequestEnded says that the engine has released a request and all it held.
type RequestEnded struct {
	ID     RequestID
	Reason EndReason
	Token  int32  // the token that ended it, for EndEOS and EndStopToken
	Why    string // from EndFailed on; without anything that a client sent
}

// EpochStarted says that the actors of an epoch are running and accept requests.
type EpochStarted struct {
	Header
	// Isolates, from dispatch: it gives each quarantined request an engine without others,
	// so intake does not hold the others back.
	Isolates bool
}

// EpochEnded says that an epoch's actors have stopped and its device is idle. Suspects
// are the requests in the step or the message that failed.
//
// With Requests it is about a part: one of several engines is down and has lost these
// requests. The suspects are among them. The other engines and the epoch of dispatch continue.
type EpochEnded struct {
	Header
	Cause    string
	Suspects []RequestID // moved
	// Unsure, of a part: the engine's process has died, and had reported none of the
	// suspects as admitted.
	Unsure   bool
	Requests []RequestID // moved; nil: all of the engine
	// Seq numbers a part together with the epoch's StepResults.
	Seq uint64
}

// AskCacheFlush, from a client, empties the prefix cache if no request runs. The answer
// comes on Reply (capacity >= 1): "", or why not.
type AskCacheFlush struct{ Reply chan<- string }

// AskAudit, from a client, counts the KV pages by owner. The answer comes on Reply
// (capacity >= 1); nil if the engine is down.
type AskAudit struct{ Reply chan<- *SlotsAudited }

// AskCacheTree, from a client, asks for a description of the prefix cache. The
// answer comes on Reply (capacity >= 1); nil if the engine is down.
type AskCacheTree struct {
	Limits CacheLimits
	Reply  chan<- *CacheDescribed
}

// CacheView is a description of the prefix cache for people. It marshals to JSON. Frozen.
// It has token ids, and hashes of namespaces, because a cache salt is a secret.
type CacheView interface {
	// Text draws the tree, with the ages of the nodes if wanted.
	Text(ages bool) string
}

type CacheDescribed struct {
	Header
	Ticket Ticket
	View   CacheView // nil if none of several engines is up
}

type CacheFlushed struct {
	Header
	Ticket Ticket
	Pages  int // freed
}

// FlushRefused answers FlushCache while requests hold pages, with Running 0 if none of
// several engines is up.
type FlushRefused struct {
	Header
	Ticket  Ticket
	Running int
}

// SlotsAudited answers AuditSlots with the counts, in pages; of several engines those that
// are up. Without any, Total is 0.
type SlotsAudited struct {
	Header
	Ticket Ticket
	Count  PageCount
	OK     bool
	// Snapshots, moved, are those of the engines that are up, by number, if asked for.
	Snapshots []*Snapshot
}

// DeadlinesDue wakes intake to end requests that have timed out.
type DeadlinesDue struct {
	At time.Duration // when it was due; it identifies the timer
}

// DrainIntake makes intake refuse new calls. Done is closed once the open ones end.
type DrainIntake struct{ Done chan<- struct{} }

// ConfigureIntake replaces the limits of intake, all together, for later calls: open ones
// keep their timeouts. The answer on Reply (capacity >= 1): "", or why it is refused.
type ConfigureIntake struct {
	Limits IntakeLimits
	Reply  chan<- string
}

// IntakeLimits are the limits of intake that can change while it runs. The
// fields of the same names in request.TableOptions describe them.
type IntakeLimits struct {
	MaxOpenRequests, MaxQueuedTokens, MaxQueuedRequests int
	QueueTimeout, RequestTimeout                        time.Duration
}

func (*SubmitRequests) toIntake()  {}
func (*AbortRequests) toIntake()   {}
func (*DropCall) toIntake()        {}
func (*ResumeOutput) toIntake()    {}
func (*StepResults) toIntake()     {}
func (*StepResults) toFormer()     {}
func (*EpochStarted) toIntake()    {}
func (*EpochEnded) toIntake()      {}
func (*AskCacheFlush) toIntake()   {}
func (*AskAudit) toIntake()        {}
func (*AskCacheTree) toIntake()    {}
func (*CacheDescribed) toIntake()  {}
func (*CacheFlushed) toIntake()    {}
func (*FlushRefused) toIntake()    {}
func (*SlotsAudited) toIntake()    {}
func (*DrainIntake) toIntake()     {}
func (*ConfigureIntake) toIntake() {}
func (*DeadlinesDue) toIntake()    {}
