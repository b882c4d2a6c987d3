package httpapi_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Each option that can change takes effect for the next request, and so does the
// change back.
func TestConfigureTakesEffect(t *testing.T) {
	base := httpapi.Options{APIKeys: []string{"ann"}, AdminAPIKey: "boss"}
	request := func(method, path, key, body string, headers ...string) func(*testing.T, *testserver.Server) int {
		return func(t *testing.T, s *testserver.Server) int {
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			req.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
				if headers[i] == "Host" {
					req.Host = headers[i+1]
				}
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
	}
	for name, c := range map[string]struct {
		change        func(*httpapi.Options)
		ask           func(*testing.T, *testserver.Server) int
		before, after int
	}{
		"a new key":       {func(o *httpapi.Options) { o.APIKeys = []string{"ann", "bob"} }, request("GET", "/v1/models", "bob", ""), 401, 200},
		"a removed key":   {func(o *httpapi.Options) { o.APIKeys = []string{"bob"} }, request("GET", "/v1/models", "ann", ""), 200, 401},
		"a new admin key": {func(o *httpapi.Options) { o.AdminAPIKey = "chief" }, request("GET", "/debug/audit", "chief", ""), 401, 200},
		"the old one":     {func(o *httpapi.Options) { o.AdminAPIKey = "chief" }, request("GET", "/debug/audit", "boss", ""), 200, 401},
		"hosts":           {func(o *httpapi.Options) { o.AllowedHosts = []string{"chat.example"} }, request("GET", "/v1/models", "ann", "", "Host", "chat.example"), 403, 200},
		"origins":         {func(o *httpapi.Options) { o.CORSOrigins = []string{"https://chat.example"} }, request("POST", "/tokenize", "ann", `{"prompt": "a"}`, "Origin", "https://chat.example"), 403, 200},
		"bodies":          {func(o *httpapi.Options) { o.MaxBodyBytes = 10 }, request("POST", "/tokenize", "ann", `{"prompt": "a"}`), 200, 413},
	} {
		t.Run(name, func(t *testing.T) {
			s := testserver.Start(t, testserver.Options{HTTP: base})
			changed := base
			c.change(&changed)
			for _, step := range []struct {
				options httpapi.Options
				want    int
			}{{base, c.before}, {changed, c.after}, {base, c.before}} {
				s.HTTP.Configure(step.options)
				if got := c.ask(t, s); got != step.want {
					t.Errorf("%+v: status %d, want %d", step.options, got, step.want)
				}
			}
		})
	}
	t.Run("the health probe", func(t *testing.T) {
		s := testserver.Start(t, testserver.Options{})
		s.Hold()
		s.HTTP.Configure(httpapi.Options{HealthTimeout: time.Nanosecond})
		if a := send(t, s, "GET", "/health_generate", nil); a.status != 503 || !bytes.Contains(a.body, []byte("no token within 1ns")) {
			t.Errorf("%d: %s", a.status, a.body)
		}
	})
}

// A stream goes on after its key is removed, but the key cannot start another one.
func TestAStreamOutlivesItsKey(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"ann", "bob"}}})
	body := object{"prompt": onceUpon, "max_tokens": 20, "stream": true, "ignore_eos": true}
	s.Hold()
	opened := make(chan *http.Response)
	go func() { opened <- open(t, s, "POST", "/v1/completions", body, authorization("ann")...) }()
	for metric(t, s, "num_open_reqs", authorization("bob")...) < 1 {
	}
	s.HTTP.Configure(httpapi.Options{APIKeys: []string{"bob"}})
	if a := send(t, s, "POST", "/v1/completions", body, authorization("ann")...); a.status != 401 {
		t.Errorf("a removed key opens a stream: %d %s", a.status, a.body)
	}
	s.Resume()
	resp := <-opened
	defer resp.Body.Close()
	if got := readEvents(t, resp.Body); resp.StatusCode != 200 || len(got) == 0 || got[len(got)-1] != "[DONE]" || !strings.Contains(strings.Join(got, ""), `"length"`) {
		t.Errorf("the open stream ended with %d and %q", resp.StatusCode, got)
	}
}

// A key that replaces the only one does not share its cached prefixes.
func TestANewKeyHasACacheOfItsOwn(t *testing.T) {
	o := startOwners(t, httpapi.Options{APIKeys: []string{"ann"}}, nil)
	prompt := make([]int32, 64)
	for i := range prompt {
		prompt[i] = int32(i + 100)
	}
	ask := func(key string) int {
		cached := o.ask(key, prompt, nil)
		o.WaitIdle(t) // the prompt goes into the cache after the answer
		return cached
	}
	ask("ann")
	if ask("ann") == 0 {
		t.Fatal("the only key finds nothing of its own")
	}
	o.HTTP.Configure(httpapi.Options{APIKeys: []string{"bob"}})
	if n := ask("bob"); n != 0 {
		t.Errorf("the new key finds %d tokens of the old one", n)
	}
	if ask("bob") == 0 {
		t.Error("the new key finds nothing of its own")
	}
}

// Requests run beside changes; each gets the answer of the old or of the new
// options.
func TestConfigureUnderLoad(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"ann"}}})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 25 {
				a := send(t, s, "POST", "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2}, authorization("ann")...)
				if a.status != 200 && a.status != 401 {
					t.Errorf("%d: %s", a.status, a.body)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	for i := 0; ; i++ {
		s.HTTP.Configure(httpapi.Options{APIKeys: []string{[]string{"ann", "bob"}[i%2]}, MaxBodyBytes: int64(1+i%3) << 20, AllowedHosts: []string{"a", "b"}[:i%2]})
		select {
		case <-done:
			return
		default:
		}
	}
}
