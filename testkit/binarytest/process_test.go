package binarytest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// most is how long any process may take; a test that needs it has failed.
const most = 2 * time.Minute

// faults are what TROUPE_FAKE_CUDA and the command line say.
type faults struct {
	fake   string // of the fake driver; see testkit/cudaemu/fakedriver/control.h
	driver string // its file; "": the fake driver
	args   []string
}

// command runs the binary with CUDA.
func (f faults) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	library := f.driver
	if library == "" {
		library = fake(t)
	}
	return f.run(t, withCUDA(t), append(args, "--cuda-library", library)...)
}

func (f faults) run(t *testing.T, binary string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), most)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, binary, append(args, f.args...)...)
	c.Env = append(environment(), "TROUPE_FAKE_CUDA="+f.fake)
	return c
}

// refused runs a command that has to fail, and returns what it says.
func refused(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%q ended with %v; want status 1\n%s", c.Args[1:], err, out)
	}
	return last(string(out))
}

// last is the error of a command: what follows the log.
func last(out string) string {
	if i := strings.LastIndex(out, "\ntroupe: "); i >= 0 {
		return out[i+1:]
	}
	return out
}

// says checks that a text has all words, and that an error is not longer than people read.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
	if n := strings.Count(strings.TrimSpace(text), "\n"); n > 1 {
		t.Errorf("the error has %d lines:\n%s", n+1, text)
	}
}

// server is a process that serves the embedded model.
type server struct {
	*exec.Cmd
	url    string
	log    *locked.Buffer
	ended  chan struct{}
	status int
}

// serve starts a server, and waits until it is ready.
func (f faults) serve(t *testing.T, device string) *server {
	t.Helper()
	return ready(t, f.command(t, "serve", "--port", "0", "--log-format", "json", "--device", device))
}

// ready starts a server that has to become ready.
func ready(t *testing.T, c *exec.Cmd) *server {
	t.Helper()
	s := begin(t, c)
	if s.url == "" {
		t.Fatalf("%q ended with status %d:\n%s", c.Args[1:], s.status, s.log)
	}
	return s
}

// begin starts a server, and waits until it is ready or has ended; then its url is "".
func begin(t *testing.T, c *exec.Cmd) *server {
	t.Helper()
	s := &server{Cmd: c, log: &locked.Buffer{}, ended: make(chan struct{})}
	out := must(c.StderrPipe())(t)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	is := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(io.TeeReader(out, s.log))
		for lines.Scan() {
			var line struct{ Message, URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "troupe is ready" {
				is <- line.URL
			}
		}
		c.Wait()
		s.status = c.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-s.ended
	})
	select {
	case s.url = <-is:
	case <-s.ended:
	}
	return s
}

// complete asks for a completion; it returns the text and, of a request that failed, the
// code of the error.
func (s *server) complete(t *testing.T, tokens string) (text, code string) {
	t.Helper()
	answer, err := http.Post(s.url+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"Once upon a time","max_tokens":`+tokens+`,"temperature":0,"stream":true,"ignore_eos":true}`))
	if err != nil {
		t.Errorf("%v\n%s", err, s.log)
		return "", ""
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct{ Text string }
			Error   struct{ Code string }
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Errorf("%v: %s", err, data)
		}
		code = event.Error.Code
		for _, c := range event.Choices {
			text += c.Text
		}
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream was cut: %v\n%s", err, s.log)
	}
	return text, code
}

// stop ends the server with SIGTERM, and returns its exit status.
func (s *server) stop(t *testing.T) int {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-s.ended
	return s.status
}

// line returns the first line of the log with a message.
func (s *server) line(message string) string {
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `"message":"`+message) {
			return line
		}
	}
	return ""
}
