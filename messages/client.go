package messages

// CallEvent is an event of a call: one CallAccepted or CallRefused, then CallOutputs.
type CallEvent interface{ toClient() }

// CallAccepted says that intake has accepted every request of the call.
type CallAccepted struct {
	Call     CallID
	Requests []RequestID // frozen, by index
}

// RefusalKind is the class of error of a refusal.
type RefusalKind uint8

const (
	RefusedInvalid     RefusalKind = iota + 1 // can never be served: 400
	RefusedDuplicate                          // a call with the UserID is open: 400
	RefusedBusy                               // a limit is reached, try again later: 429
	RefusedDraining                           // shutting down: 503
	RefusedInternal                           // an internal error: 500
	RefusedTimeout                            // a timeout has expired: 503
	RefusedUnavailable                        // no engine could take it for too long: 503
	RefusedGrammar                            // its grammar cannot be followed: 400
)

// CallRefused ends a call that was not accepted.
type CallRefused struct {
	Call    CallID
	Kind    RefusalKind
	Message string // what, where and the remedy
	// Loggable: Message contains nothing sent by a client.
	Loggable bool
	Param    string // the offending parameter, "" if none
	Code     string // stable, for programs; "" if none
	// RetryAfterSeconds is an estimate for RefusedBusy, at least 1.
	RetryAfterSeconds int
}

// CallOutput is new output of one request of a call. Frozen.
type CallOutput struct {
	Call  CallID
	Index int // which request of the call
	// Text is what became final: whole UTF-8 characters, never part of a stop string.
	Text string
	// Tokens are the tokens of Text that are final.
	Tokens []OutputToken
	// Prompt is set once, with the request's first output.
	Prompt *PromptOutput
	// Finish is set on the request's last CallOutput, with Usage.
	Finish *Finish
	Usage  Usage
	// Fingerprint names the numerics of the engine that computed the request's output so
	// far, as in StepResults. "": there is none yet, or all engines are in this process.
	Fingerprint string
	// Paused: this output took the channel's last free place.
	Paused bool
}

type PromptOutput struct {
	Logprobs []PositionLogprobs // from PromptLogprobStart on; nil unless asked for
}

type OutputToken struct {
	Token    int32
	Logprobs *PositionLogprobs // nil unless asked for
	// TextOffset is where the token's text starts in the whole output text, in bytes.
	TextOffset int
}

// FinishReason is why a request ended, as a client sees it, in the words of the API.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"   // end token, stop token or stop string
	FinishLength FinishReason = "length" // max_tokens or the context
	FinishAbort  FinishReason = "abort"  // aborted from outside
	FinishError  FinishReason = "error"  // not computed; Message says why
)

// Finish is the end of one request as its client sees it, written once.
type Finish struct {
	Reason       FinishReason
	MatchedToken int32  // the token that ended it; -1 if none
	MatchedStop  string // the stop string that ended it; "" if none
	// Message, for FinishAbort and FinishError, has nothing of the client and is logged.
	Message string
	// Kind is set for a FinishError that is not internal: no token may be sampled
	// (RefusedInvalid), its grammar cannot be followed (RefusedGrammar), the request was replaced by one of higher priority (RefusedBusy),
	// has timed out (RefusedTimeout), no engine could take it (RefusedUnavailable), or the
	// server shuts down (RefusedDraining). Except with RefusedInvalid, RetryAfterSeconds is
	// an estimate, at least 1.
	Kind              RefusalKind
	RetryAfterSeconds int
	Final             bool // the same request would most likely end in the same way
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
