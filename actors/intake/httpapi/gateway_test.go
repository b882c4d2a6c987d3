package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// named serves the model of a server under another name.
func named(s *testserver.Server, id string) *httpapi.Served {
	m := *s.Served
	m.Model.ID = id
	return &m
}

// gateway is a gateway over engines of other servers.
func gateway(t testing.TB, models ...*httpapi.Served) (*testserver.Server, *httpapi.Models) {
	t.Helper()
	catalog := httpapi.Serving(models...)
	return adapter(t, httpapi.Deps{Models: catalog, Gateway: true}), catalog
}

// adapter serves an adapter alone.
func adapter(t testing.TB, deps httpapi.Deps) *testserver.Server {
	t.Helper()
	deps.Log, deps.Seed, deps.Now = zerolog.Nop(), func() uint64 { return 1 }, time.Now
	deps.Info, deps.Metrics = func() map[string]any { return map[string]any{} }, http.NotFoundHandler()
	api := httpapi.New(deps)
	listener := httptest.NewServer(api.Handler())
	t.Cleanup(func() {
		api.Drain()
		listener.Close()
	})
	return &testserver.Server{URL: listener.URL, HTTP: api}
}

// deaf is a model whose engine never answers.
type deaf struct{ ready bool }

// Ready implements httpapi.Engine.
func (d deaf) Ready() bool { return d.ready }

// Send implements httpapi.Engine.
func (deaf) Send(messages.ToIntake) {}

// bodies has a body for each endpoint that needs a model.
func bodies() map[string]object {
	prompt := object{"prompt": onceUpon}
	ids := object{"tokens": list{5, 6}}
	return map[string]object{
		"/v1/chat/completions": {"messages": hello, "max_tokens": 2},
		"/v1/completions":      {"prompt": onceUpon, "max_tokens": 2},
		"/generate":            {"text": onceUpon, "sampling_params": object{"max_new_tokens": 2}},
		"/tokenize":            prompt, "/v1/tokenize": prompt, "/detokenize": ids, "/v1/detokenize": ids,
	}
}

// questions are the endpoints that ask engines.
var questions = map[string]string{"/debug/audit": "GET", "/debug/cache": "GET", "/flush_cache": "POST"}

func ask(t testing.TB, s *testserver.Server, path string, query string) answer {
	t.Helper()
	return send(t, s, questions[path], path+query, nil)
}

// wantError checks an error's status, code and parameter, and that it has words.
func wantError(t testing.TB, what string, a answer, status int, code, param any, words ...string) {
	t.Helper()
	e := errorOf(t, a)
	if a.status != status || e["code"] != code || e["param"] != param {
		t.Errorf("%s: %d: %s; want %d, code %v, param %v", what, a.status, a.body, status, code, param)
	}
	for _, w := range words {
		if !strings.Contains(e["message"].(string), w) {
			t.Errorf("%s: the error %q lacks %q", what, e["message"], w)
		}
	}
	if retry := a.header.Get("Retry-After"); (retry != "") != (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) {
		t.Errorf("%s: %d with Retry-After %q", what, status, retry)
	}
}

// A request goes to the model that it names, and to no other.
func TestRequestsReachTheirModel(t *testing.T) {
	a, b := testserver.Start(t, testserver.Options{Context: 256}), testserver.Start(t, testserver.Options{Context: 128})
	g, _ := gateway(t, named(a, "alpha"), named(b, "beta"))
	for path, body := range bodies() {
		for id, engines := range map[string][2]*testserver.Server{"alpha": {a, b}, "beta": {b, a}} {
			own, other := engines[0].Steps(), engines[1].Steps()
			o := post(t, g, path, with(body, object{"model": id}))
			if strings.Contains(path, "completions") {
				want(t, o, id, "model")
			}
			if path == "/tokenize" {
				want(t, o, engines[0].Context, "max_model_len")
			}
			if computes := !strings.Contains(path, "tokenize"); computes != (engines[0].Steps() > own) || engines[1].Steps() != other {
				t.Errorf("%s of %s: its engine took %d steps, the other %d", path, id, engines[0].Steps()-own, engines[1].Steps()-other)
			}
		}
		wantError(t, path+" without a model", send(t, g, "POST", path, body), 400, nil, "model", `"alpha", "beta"`)
		wantError(t, path+" with an empty one", send(t, g, "POST", path, with(body, object{"model": ""})), 400, nil, "model", `"alpha", "beta"`)
		wantError(t, path+" of another", send(t, g, "POST", path, with(body, object{"model": "gamma"})), 404, "model_not_found", "model", `"gamma"`, `"alpha", "beta"`)
	}
	l := send(t, g, "GET", "/v1/models", nil).object(t)
	want(t, l, "alpha", "data", 0, "id")
	want(t, l, "beta", "data", 1, "id")
	want(t, send(t, g, "GET", "/v1/models/beta", nil).object(t), "beta", "id")
	wantError(t, "a model that is not there", send(t, g, "GET", "/v1/models/gamma", nil), 404, "model_not_found", "model", `"alpha", "beta"`)
}

// With one model, a gateway needs no name, and accepts it everywhere.
func TestAGatewayWithOneModel(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	g, _ := gateway(t, named(s, "alpha"))
	for path, body := range bodies() {
		post(t, g, path, body)
		post(t, g, path, with(body, object{"model": ""}))
		post(t, g, path, with(body, object{"model": "alpha"}))
		wantError(t, path, send(t, g, "POST", path, with(body, object{"model": "gamma"})), 404, "model_not_found", "model", `this server has "alpha"`)
	}
	// The answers are those of a server with this model alone.
	s.WaitIdle(t)
	for path := range questions {
		if got, want := ask(t, g, path, ""), ask(t, s, path, ""); string(got.body) != string(want.body) {
			t.Errorf("%s is %s, want %s", path, got.body, want.body)
		}
	}
	for _, path := range []string{"/readyz", "/health", "/health_generate"} {
		if a := send(t, g, "GET", path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d: %s", path, a.status, a.body)
		}
	}
}

// A server of one process has no names of models in questions.
func TestASingleServerTakesNoNamesOfModels(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	wantError(t, "/debug/cache", send(t, s, "GET", "/debug/cache?model=x", nil), 400, "unknown_parameter", "model", "not a parameter of this endpoint")
	if a := send(t, s, "GET", "/health_generate?model=x", nil); a.status != http.StatusOK {
		t.Errorf("/health_generate: %d: %s", a.status, a.body)
	}
}

// Without an engine there is nothing to serve yet.
func TestAGatewayAlone(t *testing.T) {
	g, catalog := gateway(t)
	none := func(what string, a answer) {
		t.Helper()
		wantError(t, what, a, 503, "no_engine", nil, "no engine has joined this gateway yet")
	}
	for path, body := range bodies() {
		none(path, send(t, g, "POST", path, body))
		none(path, send(t, g, "POST", path, with(body, object{"model": "alpha"})))
	}
	for path := range questions {
		none(path, ask(t, g, path, ""))
		none(path, ask(t, g, path, "?model=alpha"))
	}
	for _, path := range []string{"/readyz", "/health", "/health_generate", "/health_generate?model=x", "/v1/kv_events", "/v1/models/alpha"} {
		none(path, send(t, g, "GET", path, nil))
	}
	want(t, send(t, g, "GET", "/v1/models", nil).object(t), object{"object": "list", "data": list{}})
	for path, method := range map[string]string{"/livez": "GET", "/server_info": "GET"} {
		if a := send(t, g, method, path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	want(t, post(t, g, "/abort_request", object{"abort_all": true}), object{"success": true})

	// The first engine joins.
	s := testserver.Start(t, testserver.Options{})
	catalog.Set(named(s, "alpha"))
	post(t, g, "/v1/completions", bodies()["/v1/completions"])
	if a := send(t, g, "GET", "/readyz", nil); a.status != http.StatusOK {
		t.Errorf("with an engine: %d", a.status)
	}
}

// A model of which only the name is known is listed, and does not take requests.
func TestAModelWithoutAnEngine(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	beta := &httpapi.Served{Model: httpapi.Model{ID: "beta"}}
	g, catalog := gateway(t, named(s, "alpha"), beta)
	refused := func(what string, a answer) {
		t.Helper()
		wantError(t, what, a, 503, "no_engine", nil, "no engine of the model beta has joined this gateway yet")
	}
	for path, body := range bodies() {
		refused(path, send(t, g, "POST", path, with(body, object{"model": "beta"})))
		post(t, g, path, with(body, object{"model": "alpha"}))
	}
	for path := range questions { // about alpha, as if it were alone
		refused(path, ask(t, g, path, "?model=beta"))
		if a := ask(t, g, path, ""); a.status != http.StatusOK || strings.Contains(string(a.body), "models") {
			t.Errorf("%s: %d: %s", path, a.status, a.body)
		}
	}
	refused("/health_generate", send(t, g, "GET", "/health_generate?model=beta", nil))
	refused("/v1/kv_events", send(t, g, "GET", "/v1/kv_events?model=beta", nil))
	for _, path := range []string{"/readyz", "/health_generate", "/v1/models/beta"} {
		if a := send(t, g, "GET", path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d: %s", path, a.status, a.body)
		}
	}
	catalog.Set(beta)
	refused("alone", send(t, g, "POST", "/v1/completions", bodies()["/v1/completions"]))
	wantError(t, "/readyz", send(t, g, "GET", "/readyz", nil), 503, nil, nil)
	want(t, send(t, g, "GET", "/v1/models", nil).object(t), "beta", "data", 0, "id")
}

// A call goes on with the model it began with, whatever the catalogue has meanwhile.
func TestCallsOutliveTheirPlaceInTheCatalogue(t *testing.T) {
	a, b := testserver.Start(t, testserver.Options{}), testserver.Start(t, testserver.Options{})
	g, catalog := gateway(t, named(a, "alpha"))
	a.Hold()
	done := make(chan answer, 1)
	go func() { done <- send(t, g, "POST", "/v1/completions", object{"prompt": onceUpon, "max_tokens": 5}) }()
	a.WaitStep(t, 1)
	catalog.Set(named(b, "alpha"))
	post(t, g, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 5})
	if b.Steps() == 0 {
		t.Error("a new call went to the old engine")
	}
	a.Resume()
	if one := <-done; one.status != http.StatusOK {
		t.Errorf("the open call: %d: %s", one.status, one.body)
	}
}

// Errors list names up to a bound.
func TestNamesInErrorsAreBounded(t *testing.T) {
	var many []*httpapi.Served
	for i := range 500 {
		many = append(many, &httpapi.Served{Model: httpapi.Model{ID: fmt.Sprintf("m%03d-%s", i, strings.Repeat("x", 30))}})
	}
	g, _ := gateway(t, many...)
	a := send(t, g, "POST", "/v1/completions", object{"prompt": "a"})
	wantError(t, "500 models", a, 400, nil, "model", `"m000-x`, `"m009-x`, "and 490 more")
	if strings.Contains(string(a.body), "m010") || len(a.body) > 1000 {
		t.Errorf("%d bytes: %s", len(a.body), a.body)
	}
}

// Intake of a model that is full refuses only that model's requests.
func TestOneOfTwoModelsIsFull(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	full := named(s, "beta")
	full.Full = func() (time.Duration, time.Duration, bool) { return time.Minute, time.Second, true }
	g, _ := gateway(t, named(s, "alpha"), full)
	for path, body := range bodies() {
		post(t, g, path, with(body, object{"model": "alpha"}))
		if a := send(t, g, "POST", path, with(body, object{"model": "beta"})); strings.Contains(path, "tokenize") {
			if a.status != http.StatusOK {
				t.Errorf("%s, which needs no engine: %d", path, a.status)
			}
		} else {
			wantError(t, path, a, 429, "rate_limit_exceeded", nil, "would wait about 1m0s")
		}
	}
}

// Questions of administrators go to all models, and their answers are put together.
func TestQuestionsToAllModels(t *testing.T) {
	a, b := testserver.Start(t, testserver.Options{}), testserver.Start(t, testserver.Options{Pages: 64})
	g, catalog := gateway(t, named(a, "alpha"), named(b, "beta"))
	for _, id := range []string{"alpha", "beta"} {
		post(t, g, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2, "model": id})
	}
	a.WaitIdle(t)
	b.WaitIdle(t)

	audit := ask(t, g, "/debug/audit", "").object(t)
	want(t, audit, true, "ok")
	for i, s := range []*testserver.Server{a, b} {
		own := send(t, s, "GET", "/debug/audit", nil).object(t)
		own["model"] = []string{"alpha", "beta"}[i]
		want(t, audit, own, "models", i)
	}
	want(t, ask(t, g, "/debug/audit", "?model=beta").object(t), send(t, b, "GET", "/debug/audit", nil).object(t))

	tree := ask(t, g, "/debug/cache", "?tokens=3").object(t)
	for i, s := range []*testserver.Server{a, b} {
		want(t, tree, []string{"alpha", "beta"}[i], "models", i, "model")
		want(t, tree, send(t, s, "GET", "/debug/cache?tokens=3", nil).object(t), "models", i, "cache")
	}
	text := string(ask(t, g, "/debug/cache", "?format=text").body)
	if wanted := fmt.Sprintf("model alpha\n%smodel beta\n%s", send(t, a, "GET", "/debug/cache?format=text", nil).body, send(t, b, "GET", "/debug/cache?format=text", nil).body); text != wanted {
		t.Errorf("%s\nwant\n%s", text, wanted)
	}

	// Only the cache of a model without requests is emptied.
	open := held(t, b, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2})
	wantError(t, "/flush_cache", ask(t, g, "/flush_cache", ""), 400, nil, nil, "model beta: the cache was not flushed: 1 requests are running")
	if c := a.Audit(t).Count; c.Evictable != 0 {
		t.Errorf("the cache of the other model has %d pages", c.Evictable)
	}
	b.Resume()
	<-open
	b.WaitIdle(t)
	want(t, ask(t, g, "/flush_cache", "").object(t), true, "success")
	if c := b.Audit(t).Count; c.Evictable != 0 {
		t.Errorf("the cache has %d pages", c.Evictable)
	}

	// A model whose engines are down does not keep the others from answering.
	down := named(a, "beta")
	down.Engine = silentEngine{}
	catalog.Set(named(a, "alpha"), down)
	want(t, ask(t, g, "/debug/audit", "").object(t), list{"beta"}, "unavailable")
	want(t, ask(t, g, "/debug/cache", "").object(t), list{"beta"}, "unavailable")
	if text := string(ask(t, g, "/debug/cache", "?format=text").body); !strings.HasSuffix(text, "model beta: no engine answered\n") {
		t.Error(text)
	}
	wantError(t, "/flush_cache", ask(t, g, "/flush_cache", ""), 400, nil, nil, "model beta: restarting")
	catalog.Set(down)
	wantError(t, "/debug/audit", ask(t, g, "/debug/audit", ""), 503, nil, nil, "starting or recovering")
}

// silentEngine is a model's intake with its engines down.
type silentEngine struct{}

// Ready implements httpapi.Engine.
func (silentEngine) Ready() bool { return false }

// Send implements httpapi.Engine.
func (silentEngine) Send(msg messages.ToIntake) {
	switch m := msg.(type) {
	case *messages.AskAudit:
		m.Reply <- nil
	case *messages.AskCacheTree:
		m.Reply <- nil
	case *messages.AskCacheFlush:
		m.Reply <- "restarting"
	}
}

// An abort reaches a request whatever its model is.
func TestAbortsReachAllModels(t *testing.T) {
	a, b := testserver.Start(t, testserver.Options{}), testserver.Start(t, testserver.Options{})
	g, _ := gateway(t, named(a, "alpha"), &httpapi.Served{Model: httpapi.Model{ID: "nobody"}}, named(b, "beta"))
	for _, abort := range []object{{"rid": "mine"}, {"abort_all": true}} {
		a.Hold()
		b.Hold()
		done := make(chan answer, 2)
		steps := [2]int{a.Steps(), b.Steps()}
		for _, id := range []string{"alpha", "beta"} {
			go func() {
				done <- send(t, g, "POST", "/v1/completions", object{"model": id, "prompt": onceUpon, "max_tokens": 100, "rid": "mine"})
			}()
		}
		a.WaitStep(t, steps[0]+1)
		b.WaitStep(t, steps[1]+1)
		want(t, post(t, g, "/abort_request", abort), object{"success": true})
		for range 2 {
			wantError(t, fmt.Sprint(abort), <-done, 400, "request_aborted", nil)
		}
		a.Resume()
		b.Resume()
		a.WaitIdle(t)
		b.WaitIdle(t)
	}
}

// One model that computes is enough for a healthy gateway; ?model= asks for a certain one.
func TestHealthOfSeveralModels(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	hung := named(s, "hung")
	hung.Engine, hung.Steps = deaf{ready: true}, func() float64 { return 0 }
	opt := httpapi.Options{HealthTimeout: 50 * time.Millisecond, HealthInterval: time.Millisecond}
	catalog := httpapi.Serving(hung, named(s, "alpha"))
	g := adapter(t, httpapi.Deps{Options: opt, Models: catalog, Gateway: true})
	// A good engine is not late, however busy the machine is.
	slow := adapter(t, httpapi.Deps{Options: httpapi.Options{HealthTimeout: time.Hour, HealthInterval: time.Millisecond}, Models: catalog, Gateway: true})
	for range 3 { // the hung one is not waited for
		want(t, send(t, slow, "GET", "/health_generate", nil).object(t), object{"status": "healthy"})
		want(t, send(t, slow, "GET", "/health_generate?model=alpha", nil).object(t), object{"status": "healthy"})
	}
	wantError(t, "the hung one", send(t, g, "GET", "/health_generate?model=hung", nil), 503, nil, nil, "the model hung is unhealthy: no token within 50ms")
	wantError(t, "another", send(t, g, "GET", "/health_generate?model=gamma", nil), 404, "model_not_found", "model")
	two := *hung
	two.Model.ID = "also hung"
	catalog.Set(hung, &two)
	wantError(t, "both hung", send(t, g, "GET", "/health_generate", nil), 503, nil, nil, "hung is unhealthy: no token within 50ms")

	// A model that is not served any more is not probed any more.
	catalog.Set(hung, named(s, "beta"))
	wantError(t, "a model that has gone", send(t, slow, "GET", "/health_generate?model=alpha", nil), 404, "model_not_found", "model")
	want(t, send(t, slow, "GET", "/health_generate?model=beta", nil).object(t), object{"status": "healthy"})

	catalog.Set(&httpapi.Served{Model: hung.Model, Engine: deaf{}})
	wantError(t, "/readyz", send(t, g, "GET", "/readyz", nil), 503, nil, nil, "starting or recovering")
	catalog.Set(&httpapi.Served{Model: hung.Model, Engine: deaf{}}, &two)
	if a := send(t, g, "GET", "/readyz", nil); a.status != http.StatusOK {
		t.Errorf("with one of two models: %d: %s", a.status, a.body)
	}
}

// KV events are those of one model.
func TestKVEventsOfSeveralModels(t *testing.T) {
	a, b := testserver.Start(t, testserver.Options{Change: withEvents(0)}), testserver.Start(t, testserver.Options{Change: withEvents(0)})
	off := testserver.Start(t, testserver.Options{})
	g, _ := gateway(t, named(a, "alpha"), named(b, "beta"), named(off, "off"))
	stored := func(s *testserver.Server, query string) kvEvent {
		t.Helper()
		for e := openEvents(t, s, query); ; {
			if v, ok := e.next(); v.name == "stored" || !ok {
				return v
			}
		}
	}
	for id, prompt := range map[string]string{"alpha": "A cat sat on the mat", "beta": onceUpon} {
		post(t, g, "/v1/completions", object{"model": id, "prompt": prompt, "max_tokens": 20})
	}
	for id, s := range map[string]*testserver.Server{"alpha": a, "beta": b} {
		if got, want := stored(g, "?after=0&model="+id), stored(s, "?after=0"); len(got.Hashes) == 0 || !slices.Equal(got.Hashes, want.Hashes) {
			t.Errorf("%s: the gateway has %v, the engine %v", id, got.Hashes, want.Hashes)
		}
	}
	wantError(t, "without a model", send(t, g, "GET", "/v1/kv_events", nil), 400, nil, "model", `"alpha", "beta", "off"`)
	wantError(t, "another model", send(t, g, "GET", "/v1/kv_events?model=x", nil), 404, "model_not_found", "model")
	wantError(t, "off", send(t, g, "GET", "/v1/kv_events?model=off", nil), 404, "kv_events_off", nil)
}
