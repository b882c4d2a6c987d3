package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// object is a JSON object; short, since tests write many.
type object = map[string]any

type list = []any

// answer is a whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes a request and reads the answer.
func send(t testing.TB, s *testserver.Server, method, path string, body any, headers ...string) answer {
	t.Helper()
	resp := open(t, s, method, path, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// open makes a request and leaves its body to the caller.
func open(t testing.TB, s *testserver.Server, method, path string, body any, headers ...string) *http.Response {
	t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	if reader != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// post sends JSON and expects an object with status 200.
func post(t testing.TB, s *testserver.Server, path string, body any) object {
	t.Helper()
	a := send(t, s, "POST", path, body)
	if a.status != http.StatusOK {
		t.Fatalf("POST %s returns %d: %s", path, a.status, a.body)
	}
	return a.object(t)
}

func (a answer) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("not a JSON object: %v: %s", err, a.body)
	}
	return o
}

// events sends JSON and returns the data of every event of the stream.
func events(t testing.TB, s *testserver.Server, path string, body any) []string {
	t.Helper()
	resp := open(t, s, "POST", path, body)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		t.Fatalf("POST %s returns %d: %s", path, resp.StatusCode, data)
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("Content-Type is %q", kind)
	}
	return readEvents(t, resp.Body)
}

func readEvents(t testing.TB, body io.Reader) []string {
	t.Helper()
	var data []string
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 16<<20)
	for blank := true; scanner.Scan(); {
		line := scanner.Text()
		if line == "" {
			blank = true
			continue
		}
		one, ok := strings.CutPrefix(line, "data: ")
		if !ok || !blank {
			t.Fatalf("a line that is not one event: %q", line)
		}
		blank = false
		data = append(data, one)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return data
}

// chunks are the events of a stream without the end mark, which must be there.
func chunks(t testing.TB, s *testserver.Server, path string, body any) []object {
	t.Helper()
	data := events(t, s, path, body)
	if len(data) == 0 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("the stream does not end with [DONE]: %q", data)
	}
	all := make([]object, len(data)-1)
	for i := range all {
		if err := json.Unmarshal([]byte(data[i]), &all[i]); err != nil {
			t.Fatalf("event %d: %v: %s", i, err, data[i])
		}
	}
	return all
}

// at follows keys and indices into a JSON value.
func at(t testing.TB, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch key := step.(type) {
		case string:
			o, ok := v.(object)
			if !ok {
				t.Fatalf("%v: no object at %v in %v", path, path[:i], v)
			}
			v = o[key]
		case int:
			l, ok := v.(list)
			if !ok || key >= len(l) {
				t.Fatalf("%v: no element %d at %v in %v", path, key, path[:i], v)
			}
			v = l[key]
		}
	}
	return v
}

// want fails unless the value at a path has a JSON form equal to want's.
func want(t testing.TB, v any, expected any, path ...any) {
	t.Helper()
	got, _ := json.Marshal(at(t, v, path...))
	exp, _ := json.Marshal(expected)
	var a, b any
	json.Unmarshal(got, &a)
	json.Unmarshal(exp, &b)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v is %s, want %s", path, got, exp)
	}
}

// errorOf is the error object of an answer, after checks of its form.
func errorOf(t testing.TB, a answer) object {
	t.Helper()
	o := a.object(t)
	e, ok := o["error"].(object)
	if !ok || len(o) != 1 || len(e) != 4 {
		t.Fatalf("status %d without a proper error object: %s", a.status, a.body)
	}
	if text, _ := e["message"].(string); text == "" {
		t.Errorf("an error without a message: %s", a.body)
	}
	return e
}

// encode returns the ids of a text as a prompt.
func encode(text string) []int32 {
	return testserver.Tokenizer().Encode(text, tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true})
}

// params are those of a request with only max_tokens and a seed.
func params(s *testserver.Server, maxTokens int, seed uint64) *messages.SamplingParams {
	return &messages.SamplingParams{Temperature: 1, TopP: 1, RepetitionPenalty: 1, MaxTokens: maxTokens, Seed: seed,
		EOSTokenIDs: s.Model.EOS, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
}

// with copies a body with changes; a nil value takes a key out.
func with(body object, changes object) object {
	o := object{}
	for k, v := range body {
		o[k] = v
	}
	for k, v := range changes {
		if o[k] = v; v == nil {
			delete(o, k)
		}
	}
	return o
}

// plainIDs returns the ids of a text that has its special tokens as text.
func plainIDs(text string) []int32 {
	return testserver.Tokenizer().Encode(text, tokenizer.EncodeOptions{ParseSpecial: true})
}

// decodeList reads an answer that is a JSON array.
func decodeList(t testing.TB, a answer) list {
	t.Helper()
	var l list
	if err := json.Unmarshal(a.body, &l); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, not a JSON array: %v: %s", a.status, err, a.body)
	}
	return l
}

// heldStream sends a request that streams, lets the device compute one step and
// returns the stream once the engine has launched the next one: it cannot end before
// the device is resumed.
func heldStream(t testing.TB, s *testserver.Server, path string, body any) *http.Response {
	t.Helper()
	steps := s.Steps()
	s.Hold()
	streams := make(chan *http.Response, 1)
	go func() { streams <- open(t, s, "POST", path, body) }()
	s.WaitStep(t, steps+1)
	s.Step(t)
	return <-streams
}

// held sends a request while the device is held and returns once it runs.
func held(t testing.TB, s *testserver.Server, path string, body any) <-chan answer {
	t.Helper()
	steps := s.Steps()
	s.Hold()
	done := make(chan answer, 1)
	go func() { done <- send(t, s, "POST", path, body) }()
	s.WaitStep(t, steps+1)
	return done
}
