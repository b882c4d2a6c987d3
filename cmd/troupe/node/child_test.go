package node

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// child is a test of this binary in its own process, so that its CPU time is counted
// apart from that of the test that starts it. It ends when its stdin ends.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner // of stdout
}

// startChild runs a test with a variable NAME=VALUE in its environment.
func startChild(t *testing.T, test, variable string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self, "-test.run=^"+test+"$")}
	c.cmd.Env = append(os.Environ(), variable)
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line returns the rest of the child's next line that begins with a word.
func (c *child) line(word string) string {
	c.t.Helper()
	for c.lines.Scan() {
		if text, ok := strings.CutPrefix(c.lines.Text(), word+" "); ok {
			return text
		}
	}
	c.t.Fatalf("the process ended before it said %q: %v", word, c.lines.Err())
	return ""
}

// wait reads the rest of the output and waits for the end.
func (c *child) wait() {
	c.t.Helper()
	for c.lines.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the process: %v", err)
	}
}
