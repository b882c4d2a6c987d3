//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// localCluster is `troupe cluster up` in a process of its own.
type localCluster struct {
	process
	Nodes []struct {
		Name, Role, URL string
		PID             int
	}
}

// startCluster runs a gateway and two engines until they are ready.
func startCluster(t *testing.T, args ...string) *localCluster {
	t.Helper()
	args = append([]string{"cluster", "up", "--gateways", "1", "--engines", "2", "--port", "0", "--json", "--", "--log-format", "json", "--max-total-tokens", "4096"}, args...)
	c := &localCluster{process: process{Cmd: exec.Command(os.Args[0], args...), logged: &locked.Buffer{}}}
	c.Env = append(os.Environ(), asTroupe+"=1")
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil { // still there after a failure
			c.Process.Signal(syscall.SIGTERM)
			c.Wait()
		}
	})
	c.lines = bufio.NewScanner(io.TeeReader(stderr, c.logged))
	if c.waitFor("the cluster is ready") == "" {
		c.Wait()
		t.Fatalf("the cluster did not get ready; the log:\n%s", c.logged)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, c) != nil || len(c.Nodes) != 3 {
		t.Fatalf("%v: %s", err, line)
	}
	c.URL = c.Nodes[0].URL
	return c
}

// connect opens a connection to each node. gone waits until they are closed, and
// reports who then still accepts one.
func (c *localCluster) connect(t *testing.T) (gone func()) {
	dial := func(i int) (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.Nodes[i].URL, "http://")) }
	var open []net.Conn
	for i := range c.Nodes {
		conn, err := dial(i)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	return func() {
		t.Helper()
		for i, conn := range open {
			// The connections of a killed process may end before it stops listening.
			for again := 0; conn != nil && again < 5; again++ {
				io.Copy(io.Discard, conn)
				conn.Close()
				conn, _ = dial(i)
			}
			if conn != nil {
				conn.Close()
				t.Errorf("%s is still there; the log:\n%s", c.Nodes[i].Name, c.logged)
			}
		}
	}
}

func TestClusterUp(t *testing.T) {
	c := startCluster(t)
	if !c.answers(t) {
		t.Errorf("no answer; the log:\n%s", c.logged)
	}
	victim := c.Nodes[1]
	if err := syscall.Kill(victim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line := c.waitFor("restarting it"); !strings.Contains(line, `"node":"engine-1"`) || !strings.Contains(line, "signal: killed") {
		t.Errorf("the end is not logged: %s", line)
	}
	var ready struct {
		Node string
		PID  int
	}
	if err := json.Unmarshal([]byte(c.waitFor("is ready again")), &ready); err != nil || ready.Node != victim.Name || ready.PID == victim.PID {
		t.Errorf("%v: %+v", err, ready)
	}
	c.Nodes[1].PID = ready.PID
	resp, err := http.Get(victim.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !c.answers(t) {
		t.Errorf("the engine is %s; the log:\n%s", resp.Status, c.logged)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := c.ends(); status != 0 {
		t.Errorf("ended with status %d; the log:\n%s", status, c.logged)
	}
	for _, n := range c.Nodes { // it has waited for them
		if err := syscall.Kill(n.PID, 0); err != syscall.ESRCH {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	text := c.logged.String()
	last := strings.LastIndex(text, "gateway-1 | ")
	if first := strings.Index(text, `engine-2  | {"level":"info","timeout_ms"`); first < 0 || last > first || strings.Contains(text, "killing the node") {
		t.Errorf("the engines were not stopped after the gateway; the log:\n%s", text)
	}
}

// An engine that cannot start ends the command, with its error, which is said once.
func TestClusterUpOfABrokenModel(t *testing.T) {
	c := exec.Command(os.Args[0], "cluster", "up", "--gateways", "1", "--engines", "2", "--port", "0", "--", "--model", "/no/such/model")
	c.Env = append(os.Environ(), asTroupe+"=1")
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 1 {
		t.Errorf("%v:\n%s", err, out)
	}
	if text := string(out); strings.Count(text, "no such file") != 1 || strings.Count(text, "troupe: engine-") != 1 || !strings.Contains(text, " cannot start: ") {
		t.Errorf("the output:\n%s", text)
	}
}

// The first signal waits for open requests, the second one does not.
func TestClusterUpEndsAtOnceAtTheSecondSignal(t *testing.T) {
	c := startCluster(t, "--debug-step-time", "100ms")
	resp, err := http.Post(c.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Once upon a time","max_tokens":900,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil { // it runs, for another 90 seconds
		t.Fatal(err)
	}
	gone := c.connect(t)
	for _, want := range []string{"waiting for open requests", "killing the node"} {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if c.waitFor(want) == "" {
			t.Errorf("%q is not logged:\n%s", want, c.logged)
		}
	}
	if status := c.ends(); status != 1 {
		t.Errorf("ended with status %d; the log:\n%s", status, c.logged)
	}
	gone()
}

// Nothing is left of a cluster whose parent was killed.
func TestClusterUpDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	c := startCluster(t)
	gone := c.connect(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.ends()
	gone()
}
