package chat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

// A chat with a running server sends the whole conversation and the flags.
func TestChatWithAServer(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	out := commandline.MustRun(t, cli.Root("test", New()), "Hello!\n/retry\n/history\n/quit\n", "chat", "--url", s.URL, "--temperature", "0", "--max-tokens", "5", "--seed", "3")
	lines := strings.Split(out, "\n")
	if len(lines) < 4 || len(lines[0]) < 5 || lines[0] != lines[1] || lines[2] != "user: Hello!" || lines[3] != "assistant: "+lines[0] {
		t.Errorf("the conversation was\n%s", out)
	}
	if strings.Count(s.Logs(), `"message":"request accepted"`) != 2 {
		t.Errorf("the log says %s", s.Logs())
	}
}

// What a server can do wrong is said, and the chat goes on.
func TestChatWithABadServer(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"no JSON":  {"data: x\n\n", "an event that is not JSON"},
		"an error": {`data: {"error": {"message": "out of order"}}` + "\n\n", "error: out of order"},
		"cut":      {`data: {"choices": [{"delta": {"content": "Hel"}}]}` + "\n\n", "the answer of the server ended early"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte(`{"data": [{"id": "m"}]}`))
				return
			}
			_, _ = w.Write([]byte(c.answer))
		}))
		out := commandline.MustRun(t, cli.Root("test", New()), "Hello!\n/history\n/retry\n", "chat", "--url", server.URL)
		if !strings.Contains(out, c.want) || strings.Contains(out, "user: Hello!") || strings.Count(out, c.want) != 2 {
			t.Errorf("%s: %s", name, out)
		}
		server.Close()
	}
	if _, err := commandline.Run(t, cli.Root("test", New()), "", "chat", "--url", "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "no server is running at") {
		t.Errorf("no server: %v", err)
	}
	if _, err := commandline.Run(t, cli.Root("test", New()), "", "chat", "--url", "http://127.0.0.1:1", "--threads", "2"); err == nil || !strings.Contains(err.Error(), "--threads has no effect with --url") {
		t.Errorf("a setting of an engine: %v", err)
	}
}

// After the server died in the middle of an answer, /retry sends the same conversation.
func TestChatOutlivesItsServer(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data": [{"id": "m"}]}`))
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		_, _ = w.Write([]byte(`data: {"choices": [{"delta": {"content": "Hel"}}]}` + "\n\n"))
		if len(bodies) == 1 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}))
	defer server.Close()
	out := commandline.MustRun(t, cli.Root("test", New()), "Hello!\n/retry\n/history\n", "chat", "--url", server.URL)
	if !strings.Contains(out, "error: the connection to the server at "+server.URL+" was lost (unexpected EOF); /retry asks again") || strings.Count(out, "user: Hello!") != 1 {
		t.Errorf("the conversation was\n%s", out)
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Errorf("the requests were %q", bodies)
	}
}

// Of several models the first one is used, which is said; --model chooses another.
func TestChatChoosesAModel(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data": [{"id": "a"}, {"id": "org/b"}, {"id": "c"}]}`))
			return
		}
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		asked = append(asked, body.Model)
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}))
	defer server.Close()
	chat := func(args ...string) (string, error) {
		return commandline.Run(t, cli.Root("test", New()), "Hello!\n", append([]string{"chat", "--url", server.URL}, args...)...)
	}
	const note = "Using the model a. The server also has org/b and c; choose one with --model\n"
	for _, c := range []struct {
		args  []string
		model string
		note  bool
	}{{nil, "a", true}, {[]string{"--model", "org/b"}, "org/b", false}, {[]string{"--model-path", "c"}, "c", false}, {[]string{"org/b"}, "org/b", false}} {
		asked = nil
		if out, err := chat(c.args...); err != nil || len(asked) != 1 || asked[0] != c.model || strings.HasPrefix(out, note) != c.note {
			t.Errorf("%q: asked for %q, %v: %s", c.args, asked, err, out)
		}
	}
	if _, err := chat("--model", "d"); err == nil || !strings.HasSuffix(err.Error(), `does not have the model "d"; it has a, org/b and c`) {
		t.Errorf("another model: %v", err)
	}
}

// What a model thinks is shown before its answer, and is not sent back with the conversation.
func TestChatShowsThoughts(t *testing.T) {
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data": [{"id": "m"}]}`))
			return
		}
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		for _, delta := range []string{`{"role": "assistant", "content": ""}`, `{"reasoning_content": "Hm"}`, `{"reasoning_content": "."}`, `{"content": "Yes"}`, `{"content": "!"}`} {
			_, _ = w.Write([]byte(`data: {"choices": [{"delta": ` + delta + `}]}` + "\n\n"))
		}
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}))
	defer server.Close()
	out := commandline.MustRun(t, cli.Root("test", New()), "One?\nTwo?\n", "chat", "--url", server.URL)
	if strings.Count(out, "(thinking) Hm.\n\nYes!") != 2 {
		t.Errorf("the conversation was\n%s", out)
	}
	if !strings.Contains(body, `"content":"Yes!"`) || strings.Contains(body, "Hm") {
		t.Errorf("the request was %s", body)
	}
}
