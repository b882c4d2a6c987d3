package binarytest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A launch that never ends: the watchdog ends the epoch, and a minute later the process,
// which cannot get its device back. The stream ends with an error.
//
// The minute passes while the other tests run, which come after this file: a parallel test
// waits for them.
func TestALaunchThatHangs(t *testing.T) {
	withCUDA(t)
	type end struct {
		server     *server
		text, code string
		took       time.Duration
	}
	fakes := []string{"hang=run:*:500", "hang=cuEventSynchronize:90"}
	ends := make(chan end, len(fakes))
	for _, fake := range fakes {
		s := faults{fake: fake, args: append([]string{"--watchdog-timeout", "10s"}, roomy...)}.serve(t, "cuda")
		go func() {
			begin := time.Now()
			text, code := s.complete(t, "80")
			<-s.ended
			ends <- end{s, text, code, time.Since(begin)}
		}()
	}
	t.Parallel()
	for range fakes {
		e := <-ends
		if e.code != "shutting_down" || e.text == "" {
			t.Errorf("the stream ends with %q after %q", e.code, e.text)
		}
		if e.server.status != 1 || e.took > 2*time.Minute {
			t.Errorf("it ended with status %d after %v", e.server.status, e.took)
		}
		says(t, last(e.server.log.String()), "the device did not become idle within 1m0s after the failure (restart the server)",
			"longer than watchdog-timeout (10s)", "the device is still busy with a step")
	}
}

// A driver that hangs before the model is loaded is seen by probes, and one signal ends the
// process.
func TestADriverThatHangsAtTheStart(t *testing.T) {
	withCUDA(t)
	for _, call := range []string{"cuInit", "cuDevicePrimaryCtxRetain", "cuStreamSynchronize:1"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
			port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
			l.Close()
			c := faults{fake: "hang=" + call, args: roomy}.command(t, "serve", "--port", port, "--device", "cuda")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer c.Process.Kill()
			for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				status, body := get("http://127.0.0.1:" + port + "/readyz")
				if status == http.StatusServiceUnavailable && strings.Contains(body, `"status":"starting"`) {
					break
				}
				if time.Now().After(until) {
					t.Fatalf("readiness is %d: %s", status, body)
				}
			}
			if status, body := get("http://127.0.0.1:" + port + "/livez"); status != http.StatusOK {
				t.Errorf("liveness is %d: %s", status, body)
			}
			endsBySignal(t, c)
		})
	}
}

func TestADriverThatHangsWhenItIsListed(t *testing.T) {
	withCUDA(t)
	c := faults{fake: "hang=cuInit"}.command(t, "inspect", "devices")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.Process.Pid))
		if strings.Contains(string(maps), "libcuda.so") {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("it does not open the driver (%v)", err)
		}
	}
	endsBySignal(t, c)
}

// endsBySignal sends a started command one signal. It has a minute to end.
func endsBySignal(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
		if status := c.ProcessState.ExitCode(); status != 1 {
			t.Errorf("it ended with status %d", status)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

// get returns 0 if there is no answer.
func get(url string) (status int, body string) {
	answer, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}
