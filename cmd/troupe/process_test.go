package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// asTroupe makes the test binary run the command line. Variables that begin with
// TROUPE_ are settings.
const asTroupe = "TEST_BINARY_IS_TROUPE"

func TestMain(m *testing.M) {
	if os.Getenv(asTroupe) != "" {
		main()
		os.Exit(0)
	}
	// os/signal starts a goroutine at its first use and keeps it. Start it now, so that
	// no test seems to leak it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	os.Exit(m.Run())
}

// process is a server in its own process, to test signals, limits and the exit status.
type process struct {
	*exec.Cmd
	URL    string // "" if it ended before it was ready
	logged *locked.Buffer
	lines  *bufio.Scanner
}

// startServer runs a server with the embedded model until it is ready, or has
// ended. The command begins with a program that runs the rest of its arguments;
// nil runs the test binary itself.
func startServer(t *testing.T, command []string, args ...string) *process {
	t.Helper()
	if command == nil {
		command = []string{os.Args[0]}
	}
	args = append(append(command[1:len(command):len(command)], "serve", "--port", "0", "--log-format", "json"), args...)
	p := &process{Cmd: exec.Command(command[0], args...), logged: &locked.Buffer{}}
	p.Env = append(os.Environ(), asTroupe+"=1")
	out, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil { // still there after a failure
			p.Process.Kill()
			p.Wait()
		}
	})
	p.lines = bufio.NewScanner(io.TeeReader(out, p.logged))
	if line := p.waitFor("troupe is ready"); line != "" {
		var ready struct{ URL string }
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		p.URL = ready.URL
	}
	return p
}

// waitFor returns the next line of the log with a text, or "" if the process ends
// without one.
func (p *process) waitFor(text string) string {
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	return ""
}

// ends reads the log to its end and returns the exit status.
func (p *process) ends() int {
	for p.lines.Scan() {
	}
	p.Wait()
	return p.ProcessState.ExitCode()
}

// answers reports whether the server answers a completion.
func (p *process) answers(t *testing.T) bool {
	t.Helper()
	resp, err := http.Post(p.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Once upon a time","max_tokens":4,"temperature":0}`))
	if err != nil {
		t.Logf("no answer: %v", err)
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Logf("answered %s: %s, %v", resp.Status, body, err)
		return false
	}
	return true
}
