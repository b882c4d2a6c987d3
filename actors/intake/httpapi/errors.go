package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
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
	// RetryAfter in seconds, for 429 and 503; 0 sends no header.
	RetryAfter int
	// logged is what of Message the log may have; say sets both.
	logged string
}

// Error implements error.
func (e *apiError) Error() string { return e.Message }

// codeUnknown is the code of a parameter that an endpoint does not have.
const codeUnknown = "unknown_parameter"

func invalid(param, format string, args ...any) *apiError {
	return (&apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param}).say(format, args...)
}

// unsupported refuses a parameter that is known but has no effect here, so that
// nobody believes it had one.
func unsupported(param, remedy string) *apiError {
	return (&apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "unsupported_parameter", Param: param}).
		say("%s is not supported by this server; %s", param, own(remedy))
}

// differ refuses two names of one parameter that are both given, with different
// values. The second is what the error is about; under is where both stand.
func differ[T comparable](under, first string, a *T, second string, b *T) *apiError {
	if a == nil || b == nil || *a == *b {
		return nil
	}
	return invalid(under+second, "%s and %s are both given and differ; send one of them", first, second)
}

func internal(format string, args ...any) *apiError {
	return (&apiError{Status: http.StatusInternalServerError, Type: "server_error"}).say(format, args...)
}

// unready says that the engine does not take requests just now.
func unready() *apiError {
	return (&apiError{Status: http.StatusServiceUnavailable, Type: "server_error", RetryAfter: 1}).say("the engine is starting or recovering; try again in a moment")
}

// named gives an error in intake's words the name that the parameter has at an
// endpoint.
func (e *apiError) named(from, to string) *apiError {
	if e != nil && e.Param == from {
		e.Param = to
	}
	return e
}

// refused translates intake's word.
func refused(r *messages.CallRefused) *apiError {
	e := &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: r.Param, Code: r.Code}
	if r.Loggable {
		e.say("%s", own(r.Message))
	} else {
		e.say("the call cannot be served as it is asked for: %s", r.Message).Message = r.Message
	}
	switch r.Kind {
	case messages.RefusedBusy:
		e.Status, e.Type, e.RetryAfter = http.StatusTooManyRequests, "rate_limit_error", max(1, r.RetryAfterSeconds)
	case messages.RefusedDraining:
		e.Status, e.Type, e.RetryAfter = http.StatusServiceUnavailable, "server_error", max(1, r.RetryAfterSeconds)
	case messages.RefusedInternal:
		e.Status, e.Type = http.StatusInternalServerError, "server_error"
	}
	return e
}

// finishError is the error of a request that ended without a result, nil if it
// has one.
func finishError(f *messages.Finish) *apiError {
	e := &apiError{RetryAfter: max(1, f.RetryAfterSeconds)}
	switch {
	case f.Reason == messages.FinishAbort:
		// Not a status that clients repeat by themselves.
		e = &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "request_aborted"}
	case f.Reason != messages.FinishError:
		return nil
	case f.Kind == messages.RefusedInvalid:
		e = &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "nothing_to_sample"}
	case f.Kind == messages.RefusedBusy:
		e.Status, e.Type, e.Code = http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded"
	case f.Kind == messages.RefusedTimeout:
		e.Status, e.Type, e.Code = http.StatusServiceUnavailable, "server_error", "request_timeout"
	case f.Kind == messages.RefusedDraining:
		e.Status, e.Type, e.Code = http.StatusServiceUnavailable, "server_error", "shutting_down"
	default:
		e = &apiError{Status: http.StatusInternalServerError, Type: "server_error", Code: "generation_failed"}
	}
	return e.say("%s", own(f.Message))
}

type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Bounds of what an error says: it may quote what a client sent.
const (
	maxErrorMessage = 1000
	maxErrorParam   = 200
)

func (e *apiError) body() errorBody {
	o := errorObject{Message: clip(e.Message, maxErrorMessage), Type: e.Type}
	if e.Param != "" {
		param := clip(e.Param, maxErrorParam)
		o.Param = &param
	}
	if e.Code != "" {
		o.Code = &e.Code
	}
	return errorBody{o}
}

// clip cuts a text to at most limit bytes and whole characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func writeError(w http.ResponseWriter, e *apiError) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	writeJSON(w, e.Status, e.body())
}

// writeJSON answers with one JSON value. A client that does not take it in time
// is the recorder's business.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encodeJSON(v)
	if err != nil {
		status = err.Status
		body, _ = encodeJSON(err.body())
	}
	writeBody(w, status, body)
}

// encodeJSON is the JSON of an answer.
func encodeJSON(v any) ([]byte, *apiError) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // nobody puts an answer into a page as it is
	if err := e.Encode(v); err != nil {
		return nil, internal("the answer cannot be encoded")
	}
	return body.Bytes(), nil
}

// writeBody answers with JSON that is ready.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// firstOf gives the first error that is one.
func firstOf(errs ...*apiError) *apiError {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}
