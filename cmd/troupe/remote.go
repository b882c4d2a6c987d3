package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

const (
	// answerLimit bounds an answer of a server, in bytes.
	answerLimit = 64 << 20
	// answerTimeout is how long a server may take for one.
	answerTimeout = 10 * time.Second
)

// remote is the server that a view looks at.
type remote struct {
	url, key, adminKey string
}

// addFlags declares the flags that name a server.
func (r *remote) addFlags(flags *pflag.FlagSet, fallback string) {
	if u := os.Getenv("TROUPE_URL"); u != "" && fallback != "" {
		fallback = u
	}
	usage := "address of a running server. Example: http://127.0.0.1:30000"
	if fallback != "" {
		usage = "address of a running server; TROUPE_URL holds one, too"
	}
	flags.StringVar(&r.url, "url", fallback, usage)
	flags.StringVar(&r.key, "api-key", "", "key of that server; TROUPE_API_KEY holds one, too")
	flags.StringVar(&r.adminKey, "admin-api-key", "", "admin key of that server, which opens everything; TROUPE_ADMIN_API_KEY holds one, too")
}

// base is the server's address; without a scheme it is http.
func (r *remote) base() (*url.URL, error) {
	text := r.url
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--url is %q, want an address like http://127.0.0.1:30000", r.url)
	}
	return u, nil
}

// get reads one endpoint. The error says what to do.
func (r *remote) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	base, err := r.base()
	if err != nil {
		return nil, err
	}
	u := base.JoinPath(path)
	u.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if key := r.bearer(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no server answers at %s; start one with `troupe serve`, or name another one with --url", base)
	case err != nil:
		return nil, fmt.Errorf("the server does not answer; check --url: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s breaks off: %w", u, err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusUnauthorized:
		return nil, fmt.Errorf("the server at %s asks for a key; give --api-key or set TROUPE_API_KEY (--admin-api-key and TROUPE_ADMIN_API_KEY where it has an admin key): %s", base, refusalText(body))
	case http.StatusForbidden:
		if refusalCode(body) != "admin_key_required" {
			return nil, fmt.Errorf("the server at %s refuses: %s", base, refusalText(body))
		}
		return nil, fmt.Errorf("the server at %s asks for its admin key; give --admin-api-key or set TROUPE_ADMIN_API_KEY: %s", base, refusalText(body))
	}
	return nil, fmt.Errorf("%s answers %s: %s", u, answer.Status, refusalText(body))
}

// bearer is the key to send: a flag before the environment, and the admin key,
// which opens everything, before the other.
func (r *remote) bearer() string {
	for _, key := range []string{r.adminKey, r.key, os.Getenv("TROUPE_ADMIN_API_KEY")} {
		if key != "" {
			return key
		}
	}
	first, _, _ := strings.Cut(os.Getenv("TROUPE_API_KEY"), ",")
	return strings.TrimSpace(first)
}

// refusalText is the message of an error body, or its beginning, as a terminal
// may show it.
func refusalText(body []byte) string {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &e) == nil && e.Error.Message != "" {
		return logtext.Escape(e.Error.Message)
	}
	return logtext.Escape(fmt.Sprintf("%.200s", body))
}

// refusalCode is the code of an error body, "" without one.
func refusalCode(body []byte) string {
	var e struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal(body, &e) // an answer of something else has none
	return e.Error.Code
}

// status is what /server_info says, as far as views use it.
type status struct {
	Version string
	Uptime  float64 `json:"uptime_seconds"`
	Ready   bool
	Model   struct{ ID string }
	Device  struct{ Kind, Name string }
	Memory  struct {
		MaxTokens int64 `json:"max_total_num_tokens"`
		PageSize  int64 `json:"page_size"`
		Pages     int64 `json:"num_pages"`
		Stats     *telemetry.MemoryStats
	}
	Scheduler struct {
		MaxRunning int `json:"max_running_requests"`
	}
	Metrics    map[string]float64
	Histograms map[string]telemetry.Histogram
}

// status reads /server_info.
func (r *remote) status(ctx context.Context) (*status, error) {
	body, err := r.get(ctx, "/server_info", nil)
	if err != nil {
		return nil, err
	}
	s := &status{}
	if err := json.Unmarshal(body, s); err != nil || s.Memory.Stats == nil {
		return nil, fmt.Errorf("%s is no Troupe server of this version: its /server_info has no memory statistics", r.url)
	}
	return s, nil
}
