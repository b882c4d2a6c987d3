package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// What a client sends has a word with the number of the case, and digits. Neither
// may appear anywhere else.
const (
	markWord   = "Zq7xMark"
	markDigits = "918273645"
)

var markFound = regexp.MustCompile(`(?i)` + markWord + `(\d*)|` + markDigits + `|9\.18273645`)

// markedValues have the marker in each way that JSON allows. M is the word, N the
// digits. Some are not JSON.
var markedValues = []string{
	`"M"`, `"N"`, `N`, `-N`, `N.5`, `Ne300`, `Ne999`, `NNNN`, `0.N`, `true`, `null`, `""`, `[]`, `{}`,
	`["M"]`, `[N]`, `[-N]`, `[["M"]]`, `[[N]]`, `[1, "M"]`, `[1, N]`, `["a", "M"]`, `["a", N]`, `[[1], ["M"]]`, `[[1], [N]]`, `[null, "M"]`, `[{"M": "M"}]`,
	`{"M": "M"}`, `{"M": 1}`, `{"N": 1}`, `{"M": {"M": "M"}, "type": "M"}`, `{"1": "M"}`, `{"1": N}`, `{"7": 1, "07": N}`, `{"a": {"b": ["M"]}}`,
	`[{"type": "M", "text": "M", "role": "M", "content": "M", "name": "M", "function": {"name": "M"}}]`,
	`"M`, `M`, `[1, M]`, `{"a": M}`, `{"M": 1, "M": 2}`, `{"M": {"N": 1, "N": 2}}`, `"\ud800M"`, "\"\u0085\u202eM\"", "\"M\xff\"", "\"M\x01\"", `"M" "M"`,
}

// marks are all cases sent so far, and where the marker came out.
type marks struct {
	cases []string
}

// fill puts the word of a new case into a text.
func (m *marks) fill(name, text string) string {
	m.cases = append(m.cases, name)
	return strings.ReplaceAll(markOnly.ReplaceAllString(text, fmt.Sprintf("%s%d", markWord, len(m.cases)-1)), "N", markDigits)
}

// markOnly is a capital M that is not part of a word.
var markOnly = regexp.MustCompile(`\bM\b`)

// look reports each case whose marker a text has.
func (m *marks) look(t *testing.T, where, text string) {
	t.Helper()
	leaks := map[string]string{}
	for line := range strings.Lines(text) {
		for _, found := range markFound.FindAllStringSubmatch(line, -1) {
			name, index := found[0], -1
			if fmt.Sscan(found[1], &index); index >= 0 && index < len(m.cases) {
				name = m.cases[index]
			}
			leaks[name] = line
		}
	}
	names := make([]string, 0, len(leaks))
	for name := range leaks {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i == 20 {
			t.Errorf("%s has it from %d more cases", where, len(names)-i)
			break
		}
		t.Errorf("%s has what a client sent as %s: %.300s", where, name, leaks[name])
	}
}

// field is one place of a body for a value.
type field struct {
	name  string
	known bool // the endpoint has it
	body  func(value string) string
}

// within puts the fields of a struct, and one that is not known, into a body
// that wraps them. others are the rest of the object, by name.
func within(prefix string, t reflect.Type, others map[string]string, extra []string, wrap func(object string) string) (fields []field) {
	paths := httpapi.JSONFields(t)
	known := len(paths)
	for _, name := range append(extra, "M", "N") {
		paths = append(paths, []string{name})
	}
	for i, path := range paths {
		fields = append(fields, field{prefix + strings.Join(path, "."), i < known, func(value string) string {
			for _, name := range slices.Backward(path[1:]) {
				value = fmt.Sprintf(`{%q: %s}`, name, value)
			}
			var b strings.Builder
			fmt.Fprintf(&b, `{%q: %s`, path[0], value)
			for name, rest := range others {
				if name != path[0] {
					fmt.Fprintf(&b, `, %q: %s`, name, rest)
				}
			}
			return wrap(b.String() + "}")
		}})
	}
	return fields
}

// bodyFields are the places of an endpoint's body.
func bodyFields(path string) []field {
	whole := func(object string) string { return object }
	t := httpapi.BodyOf[path]
	switch path {
	case "/v1/chat/completions":
		messages := `[{"role": "user", "content": "tell M of N"}]`
		fields := within("", t, map[string]string{"messages": messages, "max_tokens": "2", "stop": `["M", "e"]`, "rid": `"M"`, "user": `"M"`}, nil, whole)
		fields = append(fields, within("", t, map[string]string{"messages": messages, "max_tokens": "2", "stream": "true"}, nil, whole)...)
		fields = append(fields, within("messages[0].", httpapi.MessageHead, map[string]string{"role": `"user"`, "content": `"M"`},
			[]string{"name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio"},
			func(o string) string { return `{"max_tokens": 2, "messages": [` + o + `]}` })...)
		return append(fields, within("messages[0].content[0].", httpapi.ContentPart, map[string]string{"type": `"text"`, "text": `"M"`}, []string{"image_url"},
			func(o string) string {
				return `{"max_tokens": 2, "messages": [{"role": "user", "content": [` + o + `]}]}`
			})...)
	case "/v1/completions":
		return append(within("", t, map[string]string{"prompt": `"tell M of N"`, "max_tokens": "2", "stop": `["M", "e"]`, "rid": `"M"`, "cache_salt": `"M"`}, nil, whole),
			within("", t, map[string]string{"prompt": `["M", "N"]`, "max_tokens": "2", "echo": "true", "logprobs": "1", "stream": "true"}, nil, whole)...)
	case "/generate":
		sampling := map[string]string{"max_new_tokens": "2", "stop": `"M"`}
		return append(within("", t, map[string]string{"text": `"tell M of N"`, "sampling_params": `{"max_new_tokens": 2, "stop": "M"}`, "rid": `"M"`, "extra_key": `"M"`}, []string{"temperature"}, whole),
			within("sampling_params.", httpapi.NativeSampling, sampling, []string{"stream"}, func(o string) string { return `{"text": "M", "sampling_params": ` + o + `}` })...)
	case "/tokenize", "/v1/tokenize":
		return within("", t, map[string]string{"prompt": `"M"`}, nil, whole)
	case "/detokenize", "/v1/detokenize":
		return within("", t, map[string]string{"tokens": `[1, 2]`}, nil, whole)
	case "/abort_request":
		return within("", t, map[string]string{"rid": `"M"`}, nil, whole)
	}
	return nil
}

// deliver calls the server's handler with a request.
func deliver(t *testing.T, handler http.Handler, method, target, body string, headers ...string) (answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
	parsed, err := r.URL.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r.URL, r.Host = parsed, "localhost"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return fmt.Sprintf("%d %v %s", w.Code, w.Header(), w.Body)
}

// asText is a log in the format of the console.
func asText(t *testing.T, log string) string {
	t.Helper()
	var text bytes.Buffer
	console := zerolog.ConsoleWriter{Out: &text, NoColor: true}
	for line := range strings.Lines(log) {
		if _, err := console.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// Nothing that a client sends is in the log, at any level and in either format, or
// in later answers to other clients.
func TestNoTextOfAClientLeaks(t *testing.T) {
	for _, level := range []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel} {
		t.Run(level.String(), func(t *testing.T) {
			sampled := racedetector.Enabled || level == zerolog.InfoLevel // whose lines are among those of debug
			s := testserver.Start(t, testserver.Options{Log: level, HTTP: httpapi.Options{APIKeys: []string{"first", "second"}, AdminAPIKey: "admin", HealthInterval: time.Millisecond}})
			handler, m := s.HTTP.Handler(), &marks{}
			for _, e := range s.HTTP.Endpoints() {
				for _, name := range append([]string{"M", "messages[N].content"}, httpapi.Queries...) {
					for _, value := range []string{"M", "N", "-N", "M%22"} {
						if e.Path == "/v1/kv_events" && name == "after" && value == "N" {
							continue // a stream without an end
						}
						as := "?" + name + "=" + value
						target := strings.ReplaceAll(e.Path, "{id...}", "M") + as
						deliver(t, handler, e.Method, m.fill(e.Path+as, target), "", "Authorization", "Bearer admin", "Last-Event-ID", m.fill(e.Path+" Last-Event-ID", "M"))
						deliver(t, handler, "M", m.fill("a method at "+e.Path, target), "", "Authorization", "Bearer first")
					}
				}
				if e.Method != http.MethodPost {
					continue
				}
				body, ok := httpapi.BodyOf[e.Path]
				if !ok {
					t.Fatalf("name the body of %s in BodyOf, so that its fields are tried", e.Path)
				}
				if body != nil && !httpapi.Registered(body) {
					t.Errorf("the body of %s is not among requestBodies, so the log does not know its parameters", e.Path)
				}
				for _, value := range markedValues {
					deliver(t, handler, e.Method, e.Path, m.fill(e.Path+" body "+value, value), "Authorization", "Bearer first")
				}
				for i, f := range bodyFields(e.Path) {
					for j, value := range markedValues {
						if sampled && (i+j)%8 > 0 {
							continue
						}
						got := deliver(t, handler, e.Method, e.Path, m.fill(e.Path+" "+f.name+" = "+value, f.body(value)), "Authorization", "Bearer first")
						if f.known && value == "null" && strings.Contains(got, "unknown_parameter") {
							t.Fatalf("%s does not know its field %s: %s", e.Path, f.name, got)
						}
					}
				}
			}
			s.WaitIdle(t)
			if least := map[bool]int{false: 10000, true: 2000}[sampled]; len(m.cases) < least {
				t.Errorf("%d cases, want at least %d", len(m.cases), least)
			}
			log := s.Logs()
			if !strings.Contains(log, "top_p is …; it must be between 0 and 1") || !strings.Contains(log, `"param":"sampling_params.top_p"`) {
				t.Error("the log does not say which check failed")
			}
			m.look(t, "the JSON log", log)
			m.look(t, "the text log", asText(t, log))
			m.look(t, "another client's answer", others(t, handler))
		})
	}
}

// others are the answers to other clients.
func others(t *testing.T, handler http.Handler) string {
	t.Helper()
	var b strings.Builder
	for _, key := range []string{"", "second", "admin"} {
		for _, target := range []string{"/metrics", "/server_info", "/get_server_info", "/v1/models", "/v1/models/x", "/livez", "/readyz", "/health", "/health_generate",
			"/debug/audit", "/debug/cache", "/debug/cache?format=text", "/nowhere", "/v1/kv_events"} {
			b.WriteString(deliver(t, handler, "GET", target, "", "Authorization", "Bearer "+key) + "\n")
		}
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}`, "/v1/completions": `{"prompt": "hi", "max_tokens": 2, "top_p": 3}`,
			"/generate": `{"text": "hi", "sampling_params": {"max_new_tokens": 2}, "rid": "mine"}`, "/tokenize": `{"prompt": "hi"}`, "/detokenize": `{"tokens": [1]}`,
			"/abort_request": `{"rid": "mine"}`, "/flush_cache": ``,
		} {
			b.WriteString(deliver(t, handler, "POST", path, body, "Authorization", "Bearer "+key) + "\n")
		}
	}
	return b.String()
}
