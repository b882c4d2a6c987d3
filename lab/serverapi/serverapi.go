// Package serverapi sends requests to a running server and reads its answers and errors.
package serverapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// MaxAnswer is the longest answer that is read, in bytes.
const MaxAnswer = 64 << 20

type Server struct {
	Base      *url.URL          // without /v1
	Key       string            // sent as a bearer token; empty sends none
	Transport http.RoundTripper // makes the connections; nil means http.DefaultTransport
}

// ParseURL reads a server's address; without a scheme it is http. It removes a /v1 at the
// end, which clients of OpenAI's API have in theirs.
func ParseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("the address of the server is empty; use for example http://127.0.0.1:30000")
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a server; use for example http://127.0.0.1:30000", text)
	}
	if path, ok := strings.CutSuffix(strings.TrimRight(u.Path, "/"), "/v1"); ok {
		u.Path, u.RawPath = path, ""
	}
	return u, nil
}

type Answer struct {
	Code   int    // of HTTP
	Status string // of HTTP, in words
	Body   []byte
}

// Do sends a request without a body. Only a missing answer is an error.
func (s *Server) Do(ctx context.Context, method, path string, query url.Values) (*Answer, error) {
	answer, err := s.send(ctx, method, path, query, nil)
	if err != nil {
		return nil, err
	}
	return s.read(answer)
}

// send sends a request, with a body of JSON unless that is nil. The caller closes the
// body of the answer.
func (s *Server) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := s.Base.JoinPath(path)
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := (&http.Client{Transport: s.Transport}).Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no server is running at %s; start one with `troupe serve`, or use another --url", s.Base)
	case errors.Is(err, http.ErrSchemeMismatch):
		return nil, s.wrongScheme("http")
	case err != nil:
		return nil, fmt.Errorf("the server does not respond; check --url: %w", err)
	}
	return answer, nil
}

// wrongScheme is the error of a server that speaks the other one of HTTP and HTTPS.
func (s *Server) wrongScheme(right string) error {
	u := *s.Base
	u.Scheme = right
	return fmt.Errorf("the server at %s speaks %s; use --url %s", s.Base.Host, map[string]string{"http": "plain HTTP", "https": "HTTPS"}[right], &u)
}

// tlsOnly is how Go's servers answer plain HTTP on a port for HTTPS.
const tlsOnly = "Client sent an HTTP request to an HTTPS server"

// read reads an answer and closes it.
func (s *Server) read(answer *http.Response) (*Answer, error) {
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the response to %s %s is incomplete: %w", answer.Request.Method, answer.Request.URL, err)
	}
	if answer.StatusCode == http.StatusBadRequest && strings.HasPrefix(string(body), tlsOnly) {
		return nil, s.wrongScheme("https")
	}
	return &Answer{answer.StatusCode, answer.Status, body}, nil
}

// Get reads a document. Every status but 200 is an error that names a remedy.
func (s *Server) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	answer, err := s.Do(ctx, http.MethodGet, path, query)
	if err != nil {
		return nil, err
	}
	return answer.Body, s.Check(answer, path)
}

// Post sends a document of JSON and reads the answer. Every status but 200 is an error
// that names a remedy.
func (s *Server) Post(ctx context.Context, path string, document []byte) ([]byte, error) {
	response, err := s.send(ctx, http.MethodPost, path, nil, document)
	if err != nil {
		return nil, err
	}
	answer, err := s.read(response)
	if err != nil {
		return nil, err
	}
	return answer.Body, s.Check(answer, path)
}

// PostStream sends a document of JSON and opens the answer, which the caller reads as it
// comes, and closes. Every status but 200 is an error that names a remedy.
func (s *Server) PostStream(ctx context.Context, path string, document []byte) (io.ReadCloser, error) {
	response, err := s.send(ctx, http.MethodPost, path, nil, document)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	answer, err := s.read(response)
	if err != nil {
		return nil, err
	}
	return nil, s.Check(answer, path)
}

// Stream opens an answer that the caller reads as it comes, and closes. refused means
// that the server understood the request and will refuse it again.
func (s *Server) Stream(ctx context.Context, path string, query url.Values) (body io.ReadCloser, refused bool, err error) {
	response, err := s.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, false, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, false, nil
	}
	answer, err := s.read(response)
	if err != nil {
		return nil, false, err
	}
	return nil, answer.Code/100 == 4 && answer.Code != http.StatusTooManyRequests, s.Check(answer, path)
}

// Check is the error of an answer, nil for 200.
func (s *Server) Check(a *Answer, path string) error {
	code, text := ErrorOf(a.Body)
	text = logtext.Escape(text)
	switch {
	case a.Code == http.StatusOK:
		return nil
	case a.Code == http.StatusUnauthorized:
		return fmt.Errorf("the server at %s requires an API key; use --api-key or set TROUPE_API_KEY (or --admin-api-key and TROUPE_ADMIN_API_KEY): %s", s.Base, text)
	case a.Code == http.StatusForbidden && code == "admin_key_required":
		return fmt.Errorf("the server at %s requires its admin key; use --admin-api-key or set TROUPE_ADMIN_API_KEY: %s", s.Base, text)
	}
	return fmt.Errorf("%s at %s failed: HTTP %s: %s", path, s.Base, a.Status, text)
}

// fault is the error of an answer: {"error":{"message":…}} or {"error":"…"}.
type fault struct{ Message, Code string }

// UnmarshalJSON accepts anything: servers differ here.
func (f *fault) UnmarshalJSON(data []byte) error {
	type object fault
	if json.Unmarshal(data, &f.Message) != nil {
		_ = json.Unmarshal(data, (*object)(f))
	}
	return nil
}

// ErrorOf reads an error's code, "" for none, and its message, else the whole body.
func ErrorOf(body []byte) (code, message string) {
	var e struct {
		Error           fault
		Message, Detail any
	}
	_ = json.Unmarshal(body, &e) // what cannot be read stays empty
	for _, text := range []any{e.Error.Message, e.Message, e.Detail, fmt.Sprintf("%.200s", body)} {
		if text != nil && text != "" {
			return e.Error.Code, strings.TrimSpace(fmt.Sprintf("%.1000v", text))
		}
	}
	return e.Error.Code, "no reason given"
}
