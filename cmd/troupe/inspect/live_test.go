package inspect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/testkit/commandline"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// run executes `troupe inspect` in this process and returns its output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, cli.Root("test", New()), stdin, args...)
}

func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return commandline.MustRun(t, cli.Root("test", New()), stdin, args...)
}

func TestInspectCacheDrawsTheTree(t *testing.T) {
	s := commandline.Serve(t)
	s.Complete(t, "", commandline.Story)
	s.Idle(t)
	for _, args := range [][]string{{"--depth", "2", "--tokens", "3"}, {"--json"}} {
		text := mustRun(t, "", append([]string{"inspect", "cache", "--url", s.URL}, args...)...)
		want := []string{"1 node, ", "Root Node:", "[R]", "[L]", "ref=0", "slots=["}
		if args[0] == "--json" {
			want = []string{`"namespaces"`, `"locks"`}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%v lacks %s:\n%s", args, w, text)
			}
		}
	}
	if _, err := run(t, "", "inspect", "cache", "--url", s.URL, "--nodes", "99999"); err == nil || !strings.Contains(err.Error(), "10000") {
		t.Errorf("too many nodes: %v", err)
	}
}

// Of several engines, every tree is drawn, in the order of their numbers.
func TestInspectCacheDrawsEveryEngine(t *testing.T) {
	s := commandline.Serve(t, "--data-parallel-size", "2", "--load-balance-method", "round-robin")
	for range 2 {
		s.Complete(t, "", commandline.Story)
	}
	s.Idle(t)
	text := mustRun(t, "", "inspect", "cache", "--url", s.URL)
	first, second, several := strings.Cut(text, "engine 1: 1 node, ")
	if !several || !strings.HasPrefix(first, "engine 0: 1 node, ") || !strings.Contains(first, "[L]") || !strings.Contains(second, "[L]") {
		t.Errorf("the trees are\n%s", text)
	}
}

func TestInspectCacheWhileNoEngineIsUp(t *testing.T) {
	if text, err := cacheText([]byte(`{"engines":[]}`)); err != nil || !strings.Contains(text, "restarting") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRecordingIsDrawn(t *testing.T) {
	s := commandline.Serve(t)
	file := filepath.Join(t.TempDir(), "out.svg")
	s.Complete(t, "", commandline.Story)
	out := mustRun(t, "", "inspect", "memory", "--url", s.URL, "--record", "50ms", "--interval", "10ms", "--plot", file)
	if n := strings.Count(out, "evictable"); n != 5 {
		t.Errorf("%d readings:\n%s", n, out)
	}
	if svg, err := os.ReadFile(file); err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("the plot: %v, %d bytes", err, len(svg))
	}
}

// Flags of the plan are refused for a running server.
func TestLiveMemoryRefusesFlagsOfThePlan(t *testing.T) {
	for _, args := range [][]string{{"--memory", "80GiB"}, {"--page-size", "32"}, {"--model", "x"}} {
		_, err := run(t, "", append([]string{"inspect", "memory", "--url", "http://127.0.0.1:1"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), args[0]+" has no effect with --url") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := run(t, "", "inspect", "memory", "--api-key", "k"); err == nil || !strings.Contains(err.Error(), "--url") {
		t.Errorf("a key without a server: %v", err)
	}
}

// If the server stops, the recording ends and the readings so far are drawn.
func TestRecordingOutlivesItsServer(t *testing.T) {
	s := commandline.Serve(t)
	ticks := make(chan time.Time)
	l := &liveMemory{server: remote.Server{URL: s.URL}, plot: filepath.Join(t.TempDir(), "out.png")}
	done := make(chan error, 1)
	out := &locked.Buffer{}
	go func() { done <- l.watch(t.Context(), out, ticks, 100) }()
	ticks <- time.Time{}
	ticks <- time.Time{}
	ticks <- time.Time{} // two readings are over
	s.Close()            // after the third reading; none may be lost
	var err error
	for err == nil {
		select {
		case ticks <- time.Time{}:
		case err = <-done:
		}
	}
	if !strings.Contains(err.Error(), "no server is running") {
		t.Errorf("the recording ended with %v", err)
	}
	if _, err := os.Stat(l.plot); err != nil || !strings.Contains(out.String(), "evictable") {
		t.Errorf("nothing was drawn: %v", err)
	}
}
