//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
)

// A server outlives SIGHUP, says so, and still ends on SIGTERM.
func TestAServerOutlivesSIGHUP(t *testing.T) {
	s := startServer(t, nil)
	for range 2 {
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		line := s.waitFor("SIGHUP")
		if !strings.Contains(line, `"level":"info"`) || !strings.Contains(line, "nothing has changed") {
			t.Fatalf("SIGHUP was not logged as it should; the log:\n%s", s.logged)
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
