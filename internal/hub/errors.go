package hub

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is an answer of the hub other than success.
type Error struct {
	Status int
	Code   string // X-Error-Code, such as RepoNotFound or GatedRepo
	Text   string // what, where and the remedy
	wait   time.Duration
	again  bool // a later attempt may succeed
}

func (e *Error) Error() string { return e.Text }

// unreachable is a failure of the network: no answer came.
type unreachable struct {
	host  string
	cause error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("the hub at %s cannot be reached: %v; check the network, or set HF_ENDPOINT to a mirror, or HF_HUB_OFFLINE=1 to use only cached models", e.host, clipTo(e.cause.Error(), 300))
}

func (e *unreachable) Unwrap() error { return e.cause }

// cacheWillDo reports whether an error says nothing against the files that the cache has:
// the hub was not reached, or it refuses a token that was good before. The conditions of a
// gated model are another matter.
func cacheWillDo(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		return e.Code != "GatedRepo"
	}
	return mayPass(err)
}

// answered makes an error from the hub's answer. what names the model that was asked for.
func (h *Hub) answered(resp *http.Response, what string) *Error {
	e := &Error{Status: resp.StatusCode, Code: resp.Header.Get("X-Error-Code")}
	host := h.opt.Endpoint.Host
	signIn := "set HF_TOKEN to a token that may read it (" + h.opt.Endpoint.String() + "/settings/tokens)"
	if h.opt.Token != "" {
		signIn = "check that the token in use (HF_TOKEN) may read it"
	}
	if !h.ours(resp.Request.URL) {
		e.again, e.wait = e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout, retryAfter(resp.Header)
		e.Text = fmt.Sprintf("%s, which stores the files of %s, answered with status %d; try again later", resp.Request.URL.Host, what, e.Status)
		return e
	}
	switch {
	case e.Code == "GatedRepo":
		e.Text = fmt.Sprintf("access to %s is gated: accept its conditions at %s/%s, then %s", what, h.opt.Endpoint, what, signIn)
	case e.Code == "RevisionNotFound":
		e.Text = fmt.Sprintf("%s has no such revision on %s; check the name after the @", what, host)
	case e.Code == "EntryNotFound":
		e.Text = fmt.Sprintf("%s has a file in its list that the hub does not have; pull it again", what)
	case e.Code == "RepoNotFound", e.Status == http.StatusUnauthorized && e.Code == "", e.Status == http.StatusNotFound:
		e.Text = fmt.Sprintf("there is no model %s on %s, or it is private; check the name, or %s", what, host, signIn)
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		e.Text = fmt.Sprintf("%s refuses access to %s (status %d); %s", host, what, e.Status, signIn)
	case e.Status == http.StatusTooManyRequests:
		e.again, e.wait = true, retryAfter(resp.Header)
		e.Text = fmt.Sprintf("%s refuses further requests for now (rate limit); try again later, or set HF_TOKEN for a higher limit", host)
	case e.Status >= 500, e.Status == http.StatusRequestTimeout:
		e.again, e.wait = true, retryAfter(resp.Header)
		e.Text = fmt.Sprintf("%s failed with status %d when asked for %s; try again later", host, e.Status, what)
	default:
		e.Text = fmt.Sprintf("unexpected status %d from %s for %s", e.Status, host, what)
	}
	return e
}

// errLie is data that contradicts what the hub has announced.
var errLie = errors.New("the hub sent invalid data")

func lie(format string, args ...any) error {
	return fmt.Errorf("%w: %s; pull again, or try another mirror (HF_ENDPOINT)", errLie, fmt.Sprintf(format, args...))
}

// hidden removes the token from an error, in case a library has put it there.
func (h *Hub) hidden(err *unreachable) *unreachable {
	if h.opt.Token != "" && strings.Contains(err.cause.Error(), h.opt.Token) {
		err.cause = errors.New(strings.ReplaceAll(err.cause.Error(), h.opt.Token, "(token)"))
	}
	return err
}
