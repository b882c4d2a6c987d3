package hub_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// Lists have bounds, in bytes and in entries, whatever an entry is.
func TestEndlessLists(t *testing.T) {
	for title, c := range map[string]struct{ text, want string }{
		"entries": {"[" + strings.Repeat("{},", 100_000) + "{}]", "is not the expected JSON"},
		"bytes":   {strings.Repeat(" ", 16<<20+1), "more than 16777216 bytes"},
	} {
		h := hubtest.Start(t, little())
		h.SetFault(func(call *hubtest.Call) bool {
			if !strings.Contains(call.R.URL.Path, "/tree/") {
				return false
			}
			_, _ = io.WriteString(call.W, c.text)
			return true
		})
		if _, err := hub.New(options(t, h)).Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
		}
	}
}

// An error shows a little of what the hub has sent, and nothing of a signature.
func TestErrorsAreShort(t *testing.T) {
	check := func(title string, err error) {
		t.Helper()
		if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error is %.1100q", title, err)
		}
	}
	h := hubtest.Start(t, little())
	h.SetFault(hubtest.OnFiles(func(c *hubtest.Call) bool {
		c.W.Header().Set("Location", "http://[::1/?Signature=secret"+strings.Repeat("x", 100_000))
		c.W.WriteHeader(http.StatusFound)
		return true
	}))
	_, err := hub.New(options(t, h)).Pull(t.Context(), name(t, "org/little"))
	check("a wrong redirect", err)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, strings.Repeat("x", 100_000)+"\r\n\r\n")
			c.Close()
		}
	}()
	opt := options(t, h)
	opt.Endpoint = &url.URL{Scheme: "http", Host: l.Addr().String()}
	_, err = hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	check("no HTTP", err)
}
