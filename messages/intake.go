package messages

import "time"

// ToIntake is the set of messages that intake accepts.
type ToIntake interface{ toIntake() }

// SubmitRequests is a client's call: all of its requests are accepted together
// or refused together. Answers and output come on Events.
type SubmitRequests struct {
	Call CallID
	// UserID is the id by which the user may abort the call (rid, or the id of
	// the answer); unique among the open calls of its Owner.
	UserID string
	// Owner is whose call it is: a digest of the client's key, "" where clients
	// have none.
	Owner string
	// Requests, moved. At least one. Their order is the index in every event.
	Requests []Submission
	// Events is the call's own channel, capacity >= 4, read until it has
	// brought a CallRefused or one CallOutput with a Finish per request.
	// Intake never blocks on it: a CallOutput marked Paused took the last
	// place, and nothing more comes until the client sends ResumeOutput.
	Events chan<- CallEvent
}

// Submission is one choice of one prompt as a client asks for it.
type Submission struct {
	Prompt    []int32         // frozen, not empty
	Params    *SamplingParams // frozen
	Stop      []string        // frozen; stop strings, none empty
	KeepStop  bool            // the matched stop string stays in the text
	Namespace string
	// Priority and Tenant are those of EngineRequest.
	Priority int32
	Tenant   string
	// Stream asks for output as it comes; otherwise there is one CallOutput
	// with everything at the end.
	Stream bool
	// KeepSpecial leaves special tokens in the text.
	KeepSpecial bool
	// Continues marks text that goes on after the prompt (completions), so
	// that the leading space of SentencePiece vocabularies is kept.
	Continues bool
	// After is -1, or the index of the request of the same call that has to
	// produce its first token before this one enters the engine (the choices
	// of one prompt: the first one fills the cache for the others).
	After int
}

// AbortRequests ends requests from outside: the Owner's call whose UserID
// matches, every owner's with AnyOwner, or all calls. The clients see finish reason abort, or with ShuttingDown the
// error of kind RefusedDraining: they did not ask for it, and should try another
// server.
type AbortRequests struct {
	UserID       string
	Owner        string
	AnyOwner     bool
	All          bool
	ShuttingDown bool
}

// DropCall says that a call's client has gone; nobody reads its channel.
type DropCall struct{ Call CallID }

// ResumeOutput says that a client has drained its channel up to an output
// marked Paused.
type ResumeOutput struct{ Call CallID }

// StepResults is all that a batch former tells intake (which sends it back when
// it is done with it, since its memory is used again) about one step, or about
// requests that ended between steps. Queue policies that ask for it read the
// same message, so its slices are frozen.
type StepResults struct {
	Header
	// Seq counts these messages within an epoch from 1; a gap means that one
	// was lost and ends the epoch.
	Seq  uint64
	Step StepID // zero when no step belongs to it
	// Admitted left the waiting queue since the last message; frozen. A request
	// that comes back after a retraction or an epoch may be in it again.
	Admitted []RequestID
	Prompts  []PromptResult // frozen; requests whose prefill completed
	// Tokens, frozen; those of one request follow each other in order of position.
	Tokens []TokenResult
	Ended  []RequestEnded // frozen; released, nothing more will come
}

// PromptResult reports a prompt at the step that completed its prefill. A
// request that was retracted or resubmitted reports again; intake keeps the
// first.
type PromptResult struct {
	ID           RequestID
	CachedTokens int                // prompt tokens found in the cache
	Logprobs     []PositionLogprobs // frozen; from PromptLogprobStart on
}

// TokenResult is one sampled token.
type TokenResult struct {
	ID       RequestID
	Position int // index in the output, from 0
	Token    int32
	Logprobs *PositionLogprobs // frozen; nil unless asked for
}

// EndReason is why the engine released a request.
type EndReason uint8

// The reasons for which the engine releases a request.
const (
	EndEOS       EndReason = iota + 1 // the model's end token
	EndStopToken                      // one of the user's stop_token_ids
	EndLength                         // MaxTokens or the context is full
	EndCancelled                      // intake asked for it; an acknowledgement
	EndFailed                         // no token may be sampled; Why tells more
)

var endReasonNames = [...]string{"", "eos", "stop_token", "length", "cancelled", "failed"}

// String gives the name used in logs and metrics.
func (r EndReason) String() string { return endReasonNames[r] }

// RequestEnded says that the engine holds nothing of a request any more.
type RequestEnded struct {
	ID     RequestID
	Reason EndReason
	Token  int32  // the token that ended it, for EndEOS and EndStopToken
	Why    string // for EndFailed; without anything that a client sent
}

// EpochStarted says that the actors of an epoch stand and take requests.
type EpochStarted struct{ Header }

// EpochEnded says that an epoch's actors are gone and its device is quiet.
// Suspects were in the step or the message that was being executed.
type EpochEnded struct {
	Header
	Cause    string
	Suspects []RequestID // moved
}

// AskCacheFlush, from a client, empties the prefix cache when nothing runs.
// The answer, "" or why not, comes on Reply (capacity >= 1).
type AskCacheFlush struct{ Reply chan<- string }

// AskAudit, from a client, counts every KV slot by owner. The answer comes on
// Reply (capacity >= 1); nil when no epoch stands.
type AskAudit struct{ Reply chan<- *SlotsAudited }

// AskCacheTree, from a client, asks for a picture of the prefix cache. The
// answer comes on Reply (capacity >= 1); nil when no epoch stands.
type AskCacheTree struct {
	Limits CacheLimits
	Reply  chan<- *CacheDescribed
}

// CacheView is what a person may see of the prefix cache. It marshals to JSON.
// Frozen. Token ids only; namespaces are named by their hash, since a cache salt
// is a secret.
type CacheView interface {
	// Text draws it, with the ages of nodes if asked for.
	Text(ages bool) string
}

// CacheDescribed answers DescribeCache.
type CacheDescribed struct {
	Header
	Ticket Ticket
	View   CacheView
}

// CacheFlushed answers FlushCache.
type CacheFlushed struct {
	Header
	Ticket Ticket
	Pages  int // returned to the allocator
}

// FlushRefused answers FlushCache while requests hold pages.
type FlushRefused struct {
	Header
	Ticket  Ticket
	Running int
}

// SlotsAudited answers AuditSlots: the counts, in pages.
type SlotsAudited struct {
	Header
	Ticket Ticket
	Count  PageCount
	OK     bool
}

// DeadlinesDue wakes intake up to end requests whose time is over.
type DeadlinesDue struct {
	At time.Duration // when it was to come, which tells the timers of intake apart
}

// DrainIntake refuses every new call from now on; open ones go on. Done is
// closed when none is open any more.
type DrainIntake struct{ Done chan<- struct{} }

// ConfigureIntake replaces the limits of intake, all together
// and for calls that come later: open requests keep the timeouts with which they
// were accepted. The answer, "" or why the limits stay as they were, comes on
// Reply (capacity >= 1).
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
