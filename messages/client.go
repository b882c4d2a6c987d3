package messages

// CallEvent is what comes back on the channel of a call: one CallAccepted or
// CallRefused, then CallOutputs.
type CallEvent interface{ toClient() }

// CallAccepted says that every request of the call is in the table.
type CallAccepted struct {
	Call     CallID
	Requests []RequestID // frozen, by index
}

// RefusalKind says which class of error a refusal is.
type RefusalKind uint8

// The classes of refusals; the edge maps them to status codes.
const (
	RefusedInvalid   RefusalKind = iota + 1 // can never be served as asked: 400
	RefusedDuplicate                        // UserID is open already: 400
	RefusedBusy                             // a bound is reached, come back: 429
	RefusedDraining                         // shutting down: 503
	RefusedInternal                         // a fault of ours: 500
	RefusedTimeout                          // a deadline has passed: 503
)

// CallRefused ends a call that was never accepted.
type CallRefused struct {
	Call    CallID
	Kind    RefusalKind
	Message string // what, where and the remedy
	// Loggable says that Message has nothing that a client sent, so that the
	// log may have it.
	Loggable bool
	Param    string // the offending parameter, "" if none
	Code     string // a stable word for programs, "" if none
	// RetryAfterSeconds is a guess for RefusedBusy, at least 1.
	RetryAfterSeconds int
}

// CallOutput is new output of one request of a call. Frozen.
type CallOutput struct {
	Call  CallID
	Index int // which request of the call
	// Text is what became final since the last CallOutput: whole UTF-8
	// characters, never a part of a stop string.
	Text string
	// Tokens are the tokens behind Text, as far as they are final.
	Tokens []OutputToken
	// Prompt is set once, with the request's first output.
	Prompt *PromptOutput
	// Finish is set on the request's last CallOutput, with Usage.
	Finish *Finish
	Usage  Usage
	// Paused marks the output that took the channel's last place.
	Paused bool
}

// PromptOutput reports the prompt of a request.
type PromptOutput struct {
	Logprobs []PositionLogprobs // from PromptLogprobStart on; nil unless asked for
}

// OutputToken is one output token with what was asked about it.
type OutputToken struct {
	Token    int32
	Logprobs *PositionLogprobs
	// TextOffset is where the token's text starts in the request's whole
	// output text, in bytes.
	TextOffset int
}

// FinishReason is what the client is told.
type FinishReason uint8

// The reasons a client is told.
const (
	FinishStop   FinishReason = iota + 1 // end token, stop token or stop string
	FinishLength                         // max_tokens or the context
	FinishAbort                          // aborted from outside
	FinishError                          // could not be computed; Message says why
)

var finishNames = [...]string{"", "stop", "length", "abort", "error"}

// String gives the word of the API.
func (r FinishReason) String() string { return finishNames[r] }

// Finish is the end of one request as its client sees it, written once.
type Finish struct {
	Reason       FinishReason
	MatchedToken int32  // the token that ended it; -1 if none
	MatchedStop  string // the stop string that ended it; "" if none
	// Message is for FinishAbort and FinishError. It has nothing that a client
	// sent: logs have it.
	Message string
	// Kind is set for a FinishError that is not the server's fault: no token may
	// be sampled (RefusedInvalid), the request gave way to a more urgent one
	// (RefusedBusy) or its time was over (RefusedTimeout). RetryAfterSeconds of the
	// latter two is a guess, at least 1.
	Kind              RefusalKind
	RetryAfterSeconds int
}

// Usage counts tokens of one request.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	CachedTokens     int
}

func (*CallAccepted) toClient() {}
func (*CallRefused) toClient()  {}
func (*CallOutput) toClient()   {}
