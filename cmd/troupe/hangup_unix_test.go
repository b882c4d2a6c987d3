//go:build unix

package main

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-engine/troupe/testkit/commandline"
)

// A server survives SIGHUP, logs it, and still ends on SIGTERM.
func TestAServerOutlivesSIGHUP(t *testing.T) {
	s := startServer(t, nil)
	for range 2 {
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		line := s.waitFor("SIGHUP")
		if !strings.Contains(line, `"level":"info"`) || !strings.Contains(line, "nothing has changed") {
			t.Fatalf("SIGHUP was not logged correctly; the log:\n%s", s.logged)
		}
		if !s.answers(t) {
			t.Fatalf("no answer after SIGHUP; the log:\n%s", s.logged)
		}
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := s.ends(); status != 0 || !strings.Contains(s.logged.String(), "shutting down") {
		t.Errorf("ended with status %d; the log:\n%s", status, s.logged)
	}
}

// With port 0 the log is the only place that names the port of the admin address.
func TestTheLogNamesTheAdminAddress(t *testing.T) {
	s := startServer(t, nil, "--admin-address", "127.0.0.1:0")
	_, rest, _ := strings.Cut(s.logged.String(), `"admin_url":"`)
	url, _, _ := strings.Cut(rest, `"`)
	resp, err := http.Get(url + "/debug/pprof/")
	if err != nil {
		t.Fatalf("%v; the log:\n%s", err, s.logged)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", url, resp.Status)
	}
}

// A server reloads its config file after a change and at SIGHUP. Flags and the
// environment still override it, and invalid settings are refused.
func TestAServerReloadsItsSettings(t *testing.T) {
	file := commandline.File(t, "troupe.yaml", "api-key: a\nmax-open-requests: 7\n")
	replace := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+"~", []byte(text), 0o600), os.Rename(file+"~", file)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TROUPE_QUEUE_TIMEOUT", "7s")
	s := startServer(t, nil, "--config", file, "--max-queued-requests", "3")
	status := func(key string) int {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	says := func(want ...string) {
		t.Helper()
		line := s.waitFor(want[0])
		for _, w := range want {
			if !strings.Contains(line, w) {
				t.Fatalf("no line with %q; the log:\n%s", want, s.logged)
			}
		}
	}
	hangup := func() {
		t.Helper()
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	replace("api-key: [a, b]\nmax-open-requests: 7\nmax-queued-requests: 5\nqueue-timeout: 9s\n") // the last two are a flag and a variable
	says("the settings were reloaded", `"changed":["api-key"]`, "the config file has changed")
	if a, b := status("a"), status("b"); a != 200 || b != 200 {
		t.Errorf("the keys give %d and %d", a, b)
	}
	hangup()
	says("nothing has changed", "SIGHUP")
	replace("api-key: b\npage-size: 32\n")
	says("the settings were not reloaded", "page-size (file "+file+", line 2) changes from 16 to 32, which requires a restart", `"level":"error"`)
	replace("api-key: [")
	says("the settings were not reloaded", "config file "+file)
	hangup()
	says("the settings were not reloaded", "SIGHUP")
	if a, b := status("a"), status("b"); a != 200 || b != 200 {
		t.Errorf("after refused reloads the keys give %d and %d", a, b)
	}
	replace("api-key: b\nmax-open-requests: 7\n")
	says("the settings were reloaded", `"changed":["api-key"]`)
	if a, b := status("a"), status("b"); a != 401 || b != 200 {
		t.Errorf("after the last reload the keys give %d and %d", a, b)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ends(); code != 0 {
		t.Errorf("ended with status %d; the log:\n%s", code, s.logged)
	}
}
