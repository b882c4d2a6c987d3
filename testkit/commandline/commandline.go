// Package commandline runs the commands of the binary in tests, and a server with
// the embedded model.
package commandline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// Run executes a command line in this process and returns its output.
func Run(t *testing.T, root *cobra.Command, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Execute(t.Context(), root, stdin, &out, &out, args...)
	return out.String(), err
}

// MustRun is Run for a command that must succeed.
func MustRun(t *testing.T, root *cobra.Command, stdin string, args ...string) string {
	t.Helper()
	out, err := Run(t, root, stdin, args...)
	if err != nil {
		t.Fatalf("troupe %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// Execute is Run with a context and two outputs.
func Execute(ctx context.Context, root *cobra.Command, stdin string, out, stderr io.Writer, args ...string) error {
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(out)
	root.SetErr(stderr)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// File writes a file for the time of the test.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Server is the embedded model behind the real HTTP adapter.
type Server struct {
	*httptest.Server
	Node *node.Node
	Log  *locked.Buffer
}

// Serve starts a server with a small KV pool, until the test ends.
func Serve(t *testing.T, settings ...string) *Server {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.AddFlags(flags)
	if err := flags.Parse(append([]string{"--max-total-tokens", "4096", "--log-level", "debug"}, settings...)); err != nil {
		t.Fatal(err)
	}
	cfg, err := configs.Load("", flags)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Log: &locked.Buffer{}}
	if s.Node, err = node.Open(t.Context(), node.Options{Config: cfg, Log: zerolog.New(s.Log)}); err != nil {
		t.Fatal(err)
	}
	if s.Node.Recording, err = node.OpenRecording(cfg, zerolog.New(s.Log)); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s.Node.API().Handler())
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(s.Node.Close(ctx), s.Node.Recording.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Story is a request for a completion of some length.
const Story = `{"prompt": "Once upon a time there was a little cat who lived in a very big house with a red door near the sea", "max_tokens": 30, "temperature": 0}`

// Usage is the server's count of the tokens of a completion.
type Usage struct{ Prompt, Output, Cached int }

// Complete sends one completion with an API key, "" for none.
func (s *Server) Complete(t *testing.T, key, body string) Usage {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Details    struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	text, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(text, &a); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	return Usage{a.Usage.Prompt, a.Usage.Completion, a.Usage.Details.Cached}
}

// Idle waits until no page is held by a request.
func (s *Server) Idle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		reply := make(chan *messages.SlotsAudited, 1)
		s.Node.Engine.Send(&messages.AskAudit{Reply: reply})
		if a := <-reply; a != nil && a.Count.Leased == 0 && a.Count.Protected == 0 {
			return
		}
	}
	t.Fatal("pages are still held by requests")
}
