package httpapi

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/cluster/report"
)

// An error in the log is a fault of the server. Deadlines, bounds and clients that
// disconnect are not.
func TestAccessLogLevels(t *testing.T) {
	for _, c := range []struct {
		path   string
		status int
		level  string
	}{
		{"/v1/completions", 200, "info"}, {"/v1/completions", 400, "info"}, {"/v1/completions", 429, "info"}, {"/v1/completions", statusClientGone, "info"},
		{"/v1/completions", 503, "warn"}, {"/v1/completions", 500, "error"},
		{"/readyz", 200, "debug"}, {"/readyz", 503, "debug"}, {"/metrics", 200, "debug"},
	} {
		var log bytes.Buffer
		s := &Server{Deps: Deps{Log: zerolog.New(&log)}}
		s.logAccess(httptest.NewRequest("GET", c.path, nil), &trail{id: "x", route: c.path}, &recorder{status: c.status}, time.Millisecond)
		if !strings.Contains(log.String(), `"level":"`+c.level+`"`) {
			t.Errorf("%s %d: %s, want level %s", c.path, c.status, log.String(), c.level)
		}
	}
}

// A question to another node ends with its client. That is not an error of either node.
func TestAClientThatLeavesIsNoErrorOfTheCluster(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequest("GET", "/v1/cluster/actors", nil).WithContext(ctx)
	lost := &report.Error{Kind: report.Unreachable, Text: "node b does not answer"}
	if e := clusterError(r, lost, "node"); e.Status != 502 {
		t.Errorf("status %d while the client waits", e.Status)
	}
	leave()
	if e := clusterError(r, lost, "node"); e.Status != statusClientGone {
		t.Errorf("status %d after the client has left", e.Status)
	}
}
