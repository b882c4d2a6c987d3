package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// permitted runs one step for each permit, and all steps after permits is closed.
type permitted struct {
	runner.Executor
	permits <-chan struct{}
}

func (p permitted) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	go func() {
		<-p.permits
		p.Executor.Submit(b, done)
	}()
}

// reloaded is a node whose settings come from a file.
type reloaded struct {
	t       testing.TB
	file    string
	node    *Node
	api     *httpapi.Server
	log     *locked.Buffer
	permits chan struct{}
	free    func() // lets the device run
}

const baseSettings = "port: 0\nmax-total-tokens: 8192\n"

func openReloaded(t testing.TB, text string) *reloaded {
	t.Helper()
	r := &reloaded{t: t, file: filepath.Join(t.TempDir(), "troupe.yaml"), log: &locked.Buffer{}, permits: make(chan struct{})}
	r.free = sync.OnceFunc(func() { close(r.permits) })
	r.write(text)
	c, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	level := &telemetry.LogLevel{}
	SetLogLevel(level, c)
	r.node, err = Open(t.Context(), Options{Config: c, Log: zerolog.New(r.log).Sample(level), LogLevel: level, Unhashed: true,
		Engine: func(spec *engine.Spec) { spec.Members[0].Executor = permitted{spec.Members[0].Executor, r.permits} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, r.node) })
	t.Cleanup(r.free)
	r.api = r.node.API()
	return r
}

func (r *reloaded) write(text string) {
	r.t.Helper()
	// By rename, so that a half-written file is never read.
	if err := errors.Join(os.WriteFile(r.file+"~", []byte(baseSettings+text), 0o600), os.Rename(r.file+"~", r.file)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reloaded) load() (*configs.Config, error) {
	c, err := configs.Load(r.file, nil)
	return c, err
}

// reload applies a new text and returns the log line about it.
func (r *reloaded) reload(text string) string {
	r.t.Helper()
	r.write(text)
	before := len(r.log.String())
	r.node.reload(r.t.Context(), r.api, r.load, "a test")
	return r.log.String()[before:]
}

func (r *reloaded) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.serve(w, method, path, body, headers...)
	return w
}

func (r *reloaded) serve(w http.ResponseWriter, method, path, body string, headers ...string) {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.Host = "localhost"
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			q.Host = headers[i+1]
		}
	}
	r.api.Handler().ServeHTTP(w, q)
}

// hold opens a request that waits for the device, and returns its answer later.
// open is false if it was answered at once.
func (r *reloaded) hold(path, body string) (answer <-chan *httptest.ResponseRecorder, open bool) {
	before := r.node.Meter.Value(messages.RequestsOpen)
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- r.ask("POST", path, body) }()
	for r.node.Meter.Value(messages.RequestsOpen) == before && len(done) == 0 {
		runtime.Gosched()
	}
	return done, len(done) == 0
}

const oneToken = `{"prompt": "Once upon a time", "max_tokens": 1}`

// stamped records the deadline of the last write.
type stamped struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *stamped) SetWriteDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

// Each live setting takes effect with the next request: the behaviour before and after a
// reload.
func TestEachLiveSettingTakesEffect(t *testing.T) {
	status := func(method, path, body string, headers ...string) func(*reloaded) string {
		return func(r *reloaded) string { return fmt.Sprint(r.ask(method, path, body, headers...).Code) }
	}
	full := func(r *reloaded) string { // how many of four requests are accepted while the device is blocked
		taken := 0
		var answers []<-chan *httptest.ResponseRecorder
		for range 4 {
			done, open := r.hold("/v1/completions", oneToken)
			answers = append(answers, done)
			if open {
				taken++
			}
		}
		r.free()
		for i, done := range answers {
			if got := (<-done).Code; got != map[bool]int{true: 200, false: 429}[i < taken] {
				r.t.Errorf("request %d is answered %d", i, got)
			}
		}
		return fmt.Sprint(taken)
	}
	timeout := func(r *reloaded) string { // of a request while the device is blocked
		done, _ := r.hold("/v1/completions", oneToken)
		if limits := r.node.Config().Requests; limits.QueueTimeout == time.Minute && limits.RequestTimeout == 0 {
			r.free()
		}
		return fmt.Sprint((<-done).Code)
	}
	keyFile := func(key string) string {
		file := filepath.Join(t.TempDir(), "keys.yaml")
		if err := os.WriteFile(file, []byte("keys: [{name: n, rights: use, key: "+key+"}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for key, c := range map[string]struct {
		before, after string // of the file
		look          func(*reloaded) string
		was, is       string
	}{
		"api-key":        {"api-key: a", "api-key: [a, b]", status("GET", "/v1/models", "", "Authorization", "Bearer b"), "401", "200"},
		"admin-api-key":  {"admin-api-key: a", "admin-api-key: b", status("GET", "/debug/audit", "", "Authorization", "Bearer b"), "401", "200"},
		"allowed-hosts":  {"allowed-hosts: [a.example]", "allowed-hosts: [b.example]", status("GET", "/v1/models", "", "Host", "b.example"), "403", "200"},
		"cors-origins":   {"", "cors-origins: ['https://b.example']", status("POST", "/tokenize", `{"prompt": "a"}`, "Origin", "https://b.example"), "403", "200"},
		"max-body-bytes": {"", "max-body-bytes: 5", status("POST", "/tokenize", `{"prompt": "a"}`), "200", "413"},
		"write-stall-timeout": {"", "write-stall-timeout: 5h", func(r *reloaded) string {
			w := &stamped{ResponseRecorder: httptest.NewRecorder()}
			r.serve(w, "GET", "/v1/models", "")
			return time.Until(w.deadline).Round(30 * time.Second).String()
		}, "30s", "5h0m0s"},
		"health-timeout": {"", "health-timeout: 1ns", func(r *reloaded) string {
			if r.node.Config().HTTP.HealthTimeout > time.Second {
				return "waits"
			}
			return r.ask("GET", "/health_generate", "").Body.String()
		}, "waits", "no token within 1ns"},
		"drain-timeout": {"drain-timeout: 1h", "drain-timeout: 1ms", func(r *reloaded) string {
			if r.node.Config().DrainTimeout == time.Hour {
				return "waits"
			}
			held, _ := r.hold("/v1/completions", oneToken)
			ctx, cancel := context.WithCancel(r.t.Context())
			l, err := Listen(r.node.Config())
			if err != nil {
				r.t.Fatal(err)
			}
			cancel()
			go func() { // the abort waits for the device
				for !strings.Contains(r.log.String(), "drain-timeout expired") {
					runtime.Gosched()
				}
				r.free()
			}()
			err = r.node.Serve(ctx, r.api, l)
			return fmt.Sprint((<-held).Code, err)
		}, "waits", "503 <nil>"},
		"unknown-fields": {"", "unknown-fields: refuse", func(r *reloaded) string {
			return r.ask("POST", "/v1/completions", `{"prompt": "a", "n": 0, "nonsense": 1}`).Body.String()
		}, "n is 0", "nonsense is not a parameter"},
		"api-keys-file":       {"api-keys-file: " + keyFile("a"), "api-keys-file: " + keyFile("b"), status("GET", "/v1/models", "", "Authorization", "Bearer b"), "401", "200"},
		"max-open-requests":   {"", "max-open-requests: 2", full, "4", "2"},
		"max-queued-tokens":   {"", "max-queued-tokens: 4", full, "4", "1"},
		"max-queued-requests": {"", "max-queued-requests: 3", full, "4", "3"},
		"queue-timeout":       {"", "queue-timeout: 20ms", timeout, "200", "503"},
		"request-timeout":     {"", "request-timeout: 20ms", timeout, "200", "503"},
		"log-level": {"", "log-level: warn", func(r *reloaded) string {
			before := len(r.log.String())
			r.ask("GET", "/v1/models", "")
			return fmt.Sprint(strings.Count(r.log.String()[before:], `"request"`))
		}, "1", "0"},
	} {
		t.Run(key, func(t *testing.T) {
			if got := c.look(openReloaded(t, c.before)); !strings.Contains(got, c.was) {
				t.Errorf("before: %s, want %s", got, c.was)
			}
			r := openReloaded(t, c.before)
			if line := r.reload(c.after); key != "log-level" && (!strings.Contains(line, `"the settings were reloaded"`) || !strings.Contains(line, `"changed":["`+key+`"]`)) {
				t.Fatalf("the log says %s", line)
			}
			if got := c.look(r); !strings.Contains(got, c.is) {
				t.Errorf("after: %s, want %s", got, c.is)
			}
			if n := r.node.Meter.Value(messages.ReloadsApplied); n != 1 {
				t.Errorf("%v reloads are counted", n)
			}
		})
	}
	for _, v := range configs.Default().Values() {
		if v.Live && !strings.Contains(liveTested, " "+v.Key+" ") {
			t.Errorf("%s is live, but no test shows that it takes effect", v.Key)
		}
	}
}

// A revoked key is revoked although another change needs a restart.
func TestKeysAreExchangedAlone(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(key string) {
		if err := os.WriteFile(keys, []byte("keys: [{name: n, rights: use, key: "+key+"}]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	r := openReloaded(t, "api-keys-file: "+keys)
	applied := 0
	r.node.Reloads.Applied = func(*configs.Config) { applied++ }
	answers := func() string {
		old, fresh := r.ask("GET", "/v1/models", "", "Authorization", "Bearer old"), r.ask("GET", "/v1/models", "", "Authorization", "Bearer new")
		return fmt.Sprint(old.Code, fresh.Code)
	}
	if got := answers(); got != "200 401" {
		t.Fatal(got)
	}
	write("new")
	line := r.reload("page-size: 32\napi-keys-file: " + keys)
	if !strings.Contains(line, "only the keys of api-keys-file were reloaded") || !strings.Contains(line, "page-size") || applied != 1 {
		t.Errorf("logged %s, applied %d times", line, applied)
	}
	if got := answers(); got != "401 200" {
		t.Errorf("old and new key are answered %s", got)
	}
	if line := r.reload("page-size: 32\napi-keys-file: " + keys); !strings.Contains(line, "the settings were not reloaded") || applied != 1 {
		t.Errorf("logged %s, applied %d times", line, applied)
	}
}

// A revoked key is revoked although the config file has an error.
func TestKeysAreExchangedDespiteABrokenFile(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) {
		if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(key string) string { return "keys: [{name: n, rights: use, key: " + key + "}]" }
	write(with("key-0"))
	settings := "api-key: other\napi-keys-file: " + keys + "\n"
	r := openReloaded(t, settings)
	applied := 0
	r.node.Reloads.Applied = func(*configs.Config) { applied++ }
	answers := func(old, fresh string) string {
		was, is := r.ask("GET", "/v1/models", "", "Authorization", "Bearer "+old), r.ask("GET", "/v1/models", "", "Authorization", "Bearer "+fresh)
		return fmt.Sprint(was.Code, is.Code)
	}
	for i, text := range []string{settings + "queue-timeuot: 5s\n", "api-key: [\n", settings + "queue-timeout: 60\n"} {
		old, fresh := fmt.Sprint("key-", i), fmt.Sprint("key-", i+1)
		if got := answers(old, fresh); got != "200 401" {
			t.Fatalf("%q: before, the old and the new key are answered %s", text, got)
		}
		write(with(fresh))
		if line := r.reload(text); !strings.Contains(line, "only the keys of api-keys-file were reloaded") || !strings.Contains(line, `"error"`) || applied != i+1 {
			t.Errorf("%q: logged %s, applied %d times", text, line, applied)
		}
		if got := answers(old, fresh); got != "401 200" {
			t.Errorf("%q: the old and the new key are answered %s", text, got)
		}
	}
	for _, bad := range []string{with("key-3"), "keys: []", with("other")} { // the same, none, and one that is set twice
		write(bad)
		if line := r.reload("nonsense: 1\n" + settings); !strings.Contains(line, "the settings were not reloaded") || applied != 3 {
			t.Errorf("%s: logged %s, applied %d times", bad, line, applied)
		}
		if got := answers("key-2", "key-3"); got != "401 200" {
			t.Errorf("%s: the keys are answered %s", bad, got)
		}
	}
	if n := r.node.Meter.Value(messages.ReloadsRefused); n != 6 {
		t.Errorf("%v refusals are counted", n)
	}
}

// liveTested are the keys of the table above.
const liveTested = ` api-key admin-api-key allowed-hosts cors-origins max-body-bytes write-stall-timeout health-timeout drain-timeout max-open-requests max-queued-tokens max-queued-requests queue-timeout request-timeout log-level unknown-fields api-keys-file `

// others are valid values of settings that need a restart, with other settings that they
// need.
var others = map[string]string{
	"model": "/x", "served-model-name": "x", "load-format": "dummy", "chat-template": "x", "tool-call-parser": "hermes", "reasoning-parser": "qwen3", "special-tokens-in-messages": "parse", "sampling-defaults": "openai",
	"instruction-set": "portable", "activation-dtype": "f32", "weight-dtype": "q8_0", "host": "127.0.0.2", "admin-address": "127.0.0.1:0",
	"tls-cert": "x\ntls-key: x", "tls-key": "x\ntls-cert: x", "tenant-from": "user", "record-trace": "/x", "log-format": "json", "schedule-policy": "lpm", "load-balance-method": "random",
	"enable-priority-preemption": "true\nschedule-policy: priority", "kv-cache-dtype": "bf16", "kv-layout": "paged", "radix-eviction-policy": "lfu",
	"page-size": "32", "chunked-prefill-size": "64", "context-length": "128", "mem-fraction-static": "0.25", "inter-token-latency-target": "1s", "max-total-tokens": "", "port": "", "device": "cpu", "cuda-library": "/x", "disable-cuda-graph": "true",
	"model-aliases": "[a=b]", "cluster-role": "gateway", "cluster-name": "x", "node-name": "x", "cluster-listen": "127.0.0.1:30101", "cluster-advertise": "x:30101", "cluster-join": "x:30101",
	"debug-kill-token": "7\ndebug-chaos: true", "cluster-tls-ca": "x\ncluster-tls-cert: x\ncluster-tls-key: x", "cluster-tls-cert": "x\ncluster-tls-ca: x\ncluster-tls-key: x", "cluster-tls-key": "x\ncluster-tls-ca: x\ncluster-tls-cert: x",
}

// Each setting that needs a restart is refused by name, together with a live one
// that changes at the same time.
func TestEverySettingThatNeedsARestartIsRefusedByName(t *testing.T) {
	r := openReloaded(t, "")
	before := r.node.Config()
	refused := 0.
	for _, v := range before.Values() {
		value, known := others[v.Key]
		switch x := v.Value.(type) {
		case bool:
			if !known {
				value = fmt.Sprint(!x)
			}
		case int:
			if !known {
				value = fmt.Sprint(x + 1)
			}
		case float64:
			if !known {
				value = fmt.Sprint(x + 1)
			}
		case time.Duration:
			if !known {
				value = (x + time.Second).String()
			}
		}
		if v.Live || known && value == "" {
			continue
		}
		line := r.reload("log-level: debug\n" + v.Key + ": " + value + "\n")
		var said struct{ Level, Error, Message string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%s: %v: %s", v.Key, err, line)
		}
		if said.Level != "error" || !strings.Contains(said.Error, v.Key+" (file "+r.file) || !strings.Contains(said.Error, "restart") || !strings.Contains(said.Message, "keep their values") {
			t.Errorf("%s: %s", v.Key, line)
		}
		refused++
		if r.node.Config() != before || r.node.Meter.Value(messages.ReloadsRefused) != refused {
			t.Errorf("%s: something has changed", v.Key)
		}
	}
	if refused < 40 {
		t.Errorf("only %v settings were tried", refused)
	}
}

// Invalid settings are refused, and the old ones stay in effect.
func TestABrokenFileChangesNothing(t *testing.T) {
	r := openReloaded(t, "api-key: a\nqueue-timeout: 5s\n")
	before := r.node.Config()
	for name, c := range map[string]struct{ text, want string }{
		"broken":         {"api-key: [", "config file"},
		"an unknown key": {"api-key: b\nqueue-timeuot: 5s", "did you mean queue-timeout?"},
		"out of range":   {"api-key: b\nmax-open-requests: 0", "max-open-requests is 0; it must be between 1 and"},
		"a wrong type":   {"api-key: b\nqueue-timeout: 60", `is "60"; it must be a duration`},
		"an empty key":   {"api-key: ''", "is empty, which would open the server to everyone"},
		"a conflict":     {"api-key: b\nadmin-api-key: b", "equals an api-key"},
		"no key":         {"", "api-key was removed"},
	} {
		line := r.reload(c.text)
		if !strings.Contains(strings.ReplaceAll(line, `\"`, `"`), c.want) || r.node.Config() != before {
			t.Errorf("%s: %s", name, line)
		}
	}
	if err := os.Remove(r.file); err != nil {
		t.Fatal(err)
	}
	r.node.reload(t.Context(), r.api, r.load, "a test")
	if r.node.Config() != before || !strings.Contains(r.log.String(), "no such file") {
		t.Error("a file that is gone changes something")
	}
	if n := r.node.Meter.Value(messages.ReloadsRefused); n != 8 {
		t.Errorf("%v refusals are counted", n)
	}
	if got := r.ask("GET", "/v1/models", "", "Authorization", "Bearer a").Code; got != 200 {
		t.Errorf("the old key gives %d", got)
	}
	line := r.reload("api-key: a # a comment\nqueue-timeout: 5s\n")
	if !strings.Contains(line, "nothing has changed") || r.node.Meter.Value(messages.ReloadsUnchanged) != 1 {
		t.Errorf("a comment: %s", line)
	}
}
