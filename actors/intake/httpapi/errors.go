package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	// Logged replaces Message in the access log, where Message may quote a
	// prompt.
	Logged string
}

// Error implements error.
func (e *apiError) Error() string { return e.Message }

// codeUnknown is the code of a parameter that an endpoint does not have.
const codeUnknown = "unknown_parameter"

func invalid(param, format string, args ...any) *apiError {
	return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...), Param: param}
}

// unsupported refuses a parameter that is known but has no effect here, so that
// nobody believes it had one.
func unsupported(param, remedy string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "unsupported_parameter", Param: param,
		Message: fmt.Sprintf("%s is not supported by this server; %s", param, remedy)}
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
	return &apiError{Status: http.StatusInternalServerError, Type: "server_error", Message: fmt.Sprintf(format, args...)}
}

// unready says that the engine does not take requests just now.
func unready() *apiError {
	return &apiError{Status: http.StatusServiceUnavailable, Type: "server_error", Message: "the engine is starting or recovering; try again in a moment", RetryAfter: 1}
}

// logged sets what the access log shows.
func (e *apiError) logged(text string) *apiError {
	e.Logged = text
	return e
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
	e := &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: r.Message, Param: r.Param, Code: r.Code}
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
	switch f.Reason {
	case messages.FinishError:
		switch f.Kind {
		case messages.RefusedBusy:
			return &apiError{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: f.Message, RetryAfter: max(1, f.RetryAfterSeconds)}
		case messages.RefusedTimeout:
			return &apiError{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "request_timeout", Message: f.Message, RetryAfter: max(1, f.RetryAfterSeconds)}
		case messages.RefusedDraining:
			return &apiError{Status: http.StatusServiceUnavailable, Type: "server_error", Code: "shutting_down", Message: f.Message, RetryAfter: max(1, f.RetryAfterSeconds)}
		}
		return &apiError{Status: http.StatusInternalServerError, Type: "server_error", Code: "generation_failed", Message: f.Message}
	case messages.FinishAbort:
		// Not a status that clients repeat by themselves.
		return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "request_aborted", Message: f.Message}
	}
	return nil
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
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // nobody puts an answer into a page as it is
	err := e.Encode(v)
	if err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":{"message":"the answer cannot be encoded","type":"server_error","param":null,"code":null}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	w.Write(body.Bytes())
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
