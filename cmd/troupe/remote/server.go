// Package remote reads the state of a running server for the commands top, inspect and
// cluster: flags for its address, readings, and views of them.
//
// # Parts
//
//	server, view, screen   the flags and readings of a server; what changed between two; a page of it
//	memorytable            its memory as a table
//	cluster                the nodes of its cluster
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/lab/serverapi"
	"github.com/troupe-engine/troupe/telemetry"
)

const (
	DefaultURL  = "http://127.0.0.1:30000" // where `troupe serve` listens by default
	MinInterval = 10 * time.Millisecond    // between two readings of a server
	timeout     = 10 * time.Second         // for an answer
)

// Server is the server that the flags choose.
type Server struct {
	URL, key, adminKey string
}

// AddFlags declares the flags. With an empty fallback the server is optional.
func (s *Server) AddFlags(flags *pflag.FlagSet, fallback string) {
	usage := "address of a running server. Example: " + DefaultURL
	if fallback != "" {
		usage = "address of a running server (or set TROUPE_URL)"
		fallback = cmp.Or(os.Getenv("TROUPE_URL"), fallback)
	}
	flags.StringVar(&s.URL, "url", fallback, usage)
	flags.StringVar(&s.key, "api-key", "", "API key of that server (or set TROUPE_API_KEY)")
	flags.StringVar(&s.adminKey, "admin-api-key", "", "admin key of that server, which allows every request (or set TROUPE_ADMIN_API_KEY)")
}

// HasKey reports whether a flag sets a key.
func (s *Server) HasKey() bool { return s.key+s.adminKey != "" }

// Client returns a client with the key to send. Flags override the environment, and the
// admin key, which allows every request, overrides the other key.
func (s *Server) Client() (*serverapi.Server, error) {
	base, err := serverapi.ParseURL(s.URL)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	first, _, _ := strings.Cut(os.Getenv("TROUPE_API_KEY"), ",")
	return &serverapi.Server{Base: base, Key: cmp.Or(s.adminKey, s.key, os.Getenv("TROUPE_ADMIN_API_KEY"), strings.TrimSpace(first))}, nil
}

// Get reads one document. The error names a remedy.
func (s *Server) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.Get(ctx, path, query)
}

// Status is the part of /server_info that views use.
type Status struct {
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
		MaxRunning   int `json:"max_running_requests"` // of each engine
		DataParallel int `json:"data_parallel_size"`   // engines
	}
	Metrics    map[string]float64
	Histograms map[string]telemetry.Histogram
}

// Status reads /server_info.
func (s *Server) Status(ctx context.Context) (*Status, error) {
	body, err := s.Get(ctx, "/server_info", nil)
	if err != nil {
		return nil, err
	}
	status := &Status{}
	if err := json.Unmarshal(body, status); err != nil || status.Memory.Stats == nil {
		return nil, fmt.Errorf("%s is not a Troupe server of this version: its /server_info has no memory statistics", s.URL)
	}
	return status, nil
}

// Watch reads the server, and again at every tick until ctx ends. It yields what
// happened since the last successful reading, or why a reading failed.
func (s *Server) Watch(ctx context.Context, ticks <-chan time.Time) (iter.Seq2[*View, error], error) {
	before, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	return watch(ctx, ticks, func(ctx context.Context) (*View, error) {
		now, err := s.Status(ctx)
		if err != nil {
			return nil, err
		}
		v := NewView(s.URL, before, now)
		before = now
		return v, nil
	}), nil
}

// watch reads at every tick until ctx ends.
func watch[T any](ctx context.Context, ticks <-chan time.Time, read func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
			}
			v, err := read(ctx)
			if ctx.Err() != nil || !yield(v, err) {
				return
			}
		}
	}
}
