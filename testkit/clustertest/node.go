package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Node is a process of the binary under test. Its methods may be called from several
// goroutines, but not two that start or end it at once.
type Node struct {
	Name    string
	Gateway bool
	URL     string // of the API
	Admin   string // URL of the profiler
	Listen  string // host:port for other nodes; "" outside of a cluster
	Proxy   *Proxy // in front of Listen; nil if there is none
	Place   *Place // its network namespace; nil: that of the test

	t    testing.TB
	args []string
	log  string // file

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	starts int
	kills  int
}

// newNode describes a process; host is where it listens.
func newNode(t testing.TB, dir, name, host string, args ...string) *Node {
	n := &Node{Name: name, t: t, log: filepath.Join(dir, name+".log")}
	api, admin := strconv.Itoa(freePort(t, "127.0.0.1")), strconv.Itoa(freePort(t, "127.0.0.1"))
	n.URL, n.Admin = "http://"+net.JoinHostPort(host, api), "http://"+net.JoinHostPort(host, admin)
	n.args = append([]string{"serve", "--host", host, "--port", api, "--admin-address", net.JoinHostPort(host, admin), "--log-format", "json"}, args...)
	return n
}

// Start starts the process; it does not wait until it is ready.
func (n *Node) Start() {
	n.t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	cmd := exec.Command(Binary(n.t), n.args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, childAttributes()
	cmd.Env = withoutSettings(os.Environ())
	if err := n.Place.run(cmd.Start); err != nil {
		n.t.Fatalf("%s: %v", n.Name, err)
	}
	exited := make(chan struct{})
	n.cmd, n.exited = cmd, exited
	n.starts++
	go func() {
		cmd.Wait()
		close(exited)
	}()
}

// withoutSettings removes variables that are settings of the binary.
func withoutSettings(env []string) (kept []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, "TROUPE_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// process is the running one, and the channel that its end closes.
func (n *Node) process() (*os.Process, chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return nil, nil
	}
	return n.cmd.Process, n.exited
}

// Exited is closed when the process has ended.
func (n *Node) Exited() <-chan struct{} {
	_, exited := n.process()
	return exited
}

// PID is the process id.
func (n *Node) PID() int {
	p, _ := n.process()
	return p.Pid
}

// Kills counts the calls of Kill: a client sends a request again if its gateway was killed
// meanwhile.
func (n *Node) Kills() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kills
}

// Kill is kill -9. It returns when the process was signalled and when it has ended.
func (n *Node) Kill() time.Time {
	p, exited := n.process()
	n.mu.Lock()
	n.kills++
	n.mu.Unlock()
	at := time.Now()
	p.Kill()
	<-exited
	return at
}

// Stop is SIGTERM. It waits for the end of the process.
func (n *Node) Stop() error {
	p, exited := n.process()
	if err := interrupt(p); err != nil {
		return err
	}
	select {
	case <-exited:
	case <-time.After(90 * time.Second):
		return fmt.Errorf("%s has not ended 90 s after SIGTERM", n.Name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with status %d after SIGTERM", n.Name, code)
	}
	return nil
}

// Pause is SIGSTOP, Continue SIGCONT.
func (n *Node) Pause() error    { p, _ := n.process(); return pause(p) }
func (n *Node) Continue() error { p, _ := n.process(); return unpause(p) }

// Alive reports whether the process runs.
func (n *Node) Alive() bool {
	_, exited := n.process()
	if exited == nil {
		return false
	}
	select {
	case <-exited:
		return false
	default:
		return true
	}
}

// end kills the process if it runs.
func (n *Node) end() {
	if p, exited := n.process(); p != nil {
		p.Kill()
		<-exited
	}
}

// Log is what all processes of this name have logged.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// faulty matches log lines that no test may cause.
var faulty = regexp.MustCompile(`bug in the server|DATA RACE|^panic:|fatal error:|invariant`)

// harmless matches those of crashes that the test has asked for, and of answers: an answer
// may say that the server has a bug.
var harmless = regexp.MustCompile(`an operator asked for a crash|"message":"request"`)

// Faults are the lines of the log that show a fault of the product.
func (n *Node) Faults() (lines []string) {
	for line := range strings.Lines(n.Log()) {
		if faulty.MatchString(line) && !harmless.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// questions is the client for questions to nodes; it keeps no connection.
var questions = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Get asks the node and returns status and body; status 0 if it does not answer.
func (n *Node) Get(path string) (int, string) {
	return ask(http.MethodGet, n.URL+path, "")
}

// Post sends a JSON body.
func (n *Node) Post(path, body string) (int, string) {
	return ask(http.MethodPost, n.URL+path, body)
}

func ask(method, url, body string) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := questions.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return 0, err.Error()
	}
	return w.StatusCode, string(text)
}

// Ready reports whether the node accepts requests. The node of an engine is ready when its
// engine is.
func (n *Node) Ready() bool {
	status, _ := n.Get("/readyz")
	return status == http.StatusOK
}

// Engines is how many engines of other nodes accept requests of this gateway.
func (n *Node) Engines() int {
	_, text := n.Get("/server_info")
	var info struct {
		Cluster struct {
			Models map[string]struct{ Engines int }
		}
	}
	if json.Unmarshal([]byte(text), &info) != nil {
		return 0
	}
	sum := 0
	for _, m := range info.Cluster.Models {
		sum += m.Engines
	}
	return sum
}

// Metric sums a metric's series, or returns -1 if the node does not answer.
func (n *Node) Metric(name string) float64 {
	_, text := n.Get("/metrics")
	return metric(text, name)
}

func metric(text, name string) float64 {
	sum, found := 0.0, false
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:]), 64)
		if err == nil {
			sum, found = sum+v, true
		}
	}
	if !found {
		return -1
	}
	return sum
}
