package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// apiError is an error as the OpenAI API reports it.
type apiError struct {
	Status  int
	Type    string
	Message string // what, where and the remedy
	Param   string // "" becomes null
	Code    string // "" becomes null

	RetryAfter int    // seconds, for 429 and 503; 0 sends no header
	most       int    // bytes of Message; 0: maxErrorMessage
	Final      bool   // sending the request again cannot help; SDKs repeat some statuses by themselves
	logged     string // Message without a client's text; say sets both
}

func (e *apiError) Error() string { return e.Message }

// newError makes an error of a status; the type follows from it.
func newError(status int) *apiError {
	e := &apiError{Status: status, Type: "invalid_request_error"}
	switch {
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		e.Type = "server_error"
	}
	return e
}

func (e *apiError) coded(code string) *apiError {
	e.Code = code
	return e
}

// about sets the parameter that the error is about.
func (e *apiError) about(param string) *apiError {
	e.Param = param
	return e
}

// retry says in how many seconds the client may try again.
func (e *apiError) retry(seconds int) *apiError {
	e.RetryAfter = seconds
	return e
}

// final marks an error that the same request would get again.
func (e *apiError) final() *apiError {
	e.Final = true
	return e
}

// Codes that several errors have.
const (
	codeTooLong = "context_length_exceeded"
	codeLimited = "rate_limit_exceeded"

	codeNoEngine = "no_engine"
)

func invalid(param, format string, args ...any) *apiError {
	return newError(http.StatusBadRequest).about(param).say(format, args...)
}

// unsupported refuses a parameter that is known but has no effect here.
func unsupported(param, remedy string) *apiError {
	return newError(http.StatusBadRequest).coded("unsupported_parameter").about(param).
		say("%s is not supported; %s", param, own(remedy))
}

// differ refuses two names of one parameter with different values. The error is about
// the second one.
func differ[T comparable](first string, a *T, second string, b *T) *apiError {
	if a == nil || b == nil || *a == *b {
		return nil
	}
	return invalid(second, "%s and %s are both given and differ; send one of them", first, second)
}

// internal is an error of the server itself.
func internal(format string, args ...any) *apiError {
	return newError(http.StatusInternalServerError).say("bug in the server; please report it: "+format, args...)
}

// outside refuses a whole number that is too small or too large.
func outside(param string, value, low, high int) *apiError {
	return invalid(param, "%s is %d; it must be between %d and %d", param, value, own(low), own(high))
}

// unready is the error while the engine does not accept requests.
func unready() *apiError {
	return newError(http.StatusServiceUnavailable).retry(1).say("the engine is starting or recovering; try again in a moment")
}

func shuttingDown() *apiError {
	return newError(http.StatusServiceUnavailable).retry(5).say("the server is shutting down; send the request to another server")
}

// refusals are intake's errors as statuses and, at a request's end, as codes.
var refusals = map[messages.RefusalKind]struct {
	status int
	code   string
}{
	messages.RefusedInvalid:     {http.StatusBadRequest, "nothing_to_sample"},
	messages.RefusedGrammar:     {http.StatusBadRequest, "invalid_grammar"},
	messages.RefusedBusy:        {http.StatusTooManyRequests, codeLimited},
	messages.RefusedTimeout:     {http.StatusServiceUnavailable, "request_timeout"},
	messages.RefusedUnavailable: {http.StatusServiceUnavailable, codeNoEngine},
	messages.RefusedDraining:    {http.StatusServiceUnavailable, "shutting_down"},
	messages.RefusedInternal:    {http.StatusInternalServerError, "generation_failed"},
}

// newRefusal makes an error of intake's kind. wait is in seconds.
func newRefusal(kind messages.RefusalKind, otherwise, wait int) *apiError {
	e := newError(cmp.Or(refusals[kind].status, otherwise))
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		e.retry(max(1, wait))
	}
	return e
}

// refused converts a refusal of intake.
func refused(r *messages.CallRefused) *apiError {
	e := newRefusal(r.Kind, http.StatusBadRequest, r.RetryAfterSeconds).coded(r.Code).about(r.Param)
	if r.Loggable {
		return e.say("%s", own(r.Message))
	}
	e.say("the request was refused: %s", r.Message).Message = r.Message
	return e
}

// finishError converts a Finish without a result into an error; nil if it has one.
func finishError(f *messages.Finish) *apiError {
	switch f.Reason {
	case messages.FinishAbort: // not a status after which clients repeat a request by themselves
		return newError(http.StatusBadRequest).coded("request_aborted").say("%s", own(f.Message))
	case messages.FinishError:
		e := newRefusal(f.Kind, http.StatusInternalServerError, f.RetryAfterSeconds).
			coded(cmp.Or(refusals[f.Kind].code, "generation_failed")).say("%s", own(f.Message))
		e.Final = f.Final || e.Status == http.StatusInternalServerError
		return e
	}
	return nil
}

type errorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// Bounds of an error in bytes: it may quote what a client sent.
const (
	maxErrorMessage = 1000
	maxErrorParam   = 200
)

func (e *apiError) body() (b errorBody) {
	b.Error.Message, b.Error.Type = clip(e.Message, cmp.Or(e.most, maxErrorMessage)), e.Type
	if e.Param != "" {
		b.Error.Param = new(clip(e.Param, maxErrorParam))
	}
	if e.Code != "" {
		b.Error.Code = &e.Code
	}
	return b
}

// clip cuts a text to at most limit bytes and whole characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// clientGone is the error of a client that disconnected, for the access log only.
func clientGone(ctx context.Context, err error) *apiError {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return newError(statusClientGone).say("the client disconnected: %v", reason(err))
}

// stalled is a failed write: the client is gone or does not read.
func stalled(err error) *apiError {
	return newError(statusClientGone).say("the client disconnected or reads too slowly (write-stall-timeout): %v", reason(err))
}

// Statuses for the access log only.
const (
	statusClientGone = 499 // a client that disconnected, as in nginx
	statusStreamed   = -1  // an error that was sent as an event; the log shows the stream's 200
)
