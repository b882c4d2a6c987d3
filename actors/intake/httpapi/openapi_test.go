package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// The description is valid, and has the endpoints of the server, each once, and no other.
func TestTheDescriptionHasEveryEndpoint(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"k"}}})
	a := send(t, s, "GET", "/openapi.json", nil)
	doc, err := openapi3.NewLoader().LoadFromData(a.body)
	if err != nil || a.status != 200 {
		t.Fatalf("%d: %v", a.status, err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	described := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			described++
			if op.Summary == "" || op.Tags[0] == "" || op.Responses.Status(200).Value.Description == nil || *op.Responses.Status(200).Value.Description == "" {
				t.Errorf("%s %s lacks a summary, a group or an answer: %+v", method, path, op)
			}
		}
	}
	endpoints := s.HTTP.Endpoints()
	for _, e := range endpoints {
		item := doc.Paths.Find(strings.ReplaceAll(e.Path, "...}", "}"))
		if item == nil || item.GetOperation(e.Method) == nil {
			t.Errorf("%s %s is not described", e.Method, e.Path)
		}
	}
	if described != len(endpoints) {
		t.Errorf("%d endpoints are described, the server has %d", described, len(endpoints))
	}
}

// The description is that of the server's role.
func TestTheDescriptionFollowsTheRole(t *testing.T) {
	gateway := httpapi.New(httpapi.Deps{Models: httpapi.Serving(), Gateway: true, Cluster: nobody{}})
	for _, s := range []*httpapi.Server{httpapi.New(httpapi.Deps{Models: httpapi.Serving()}), gateway} {
		text, err := json.Marshal(httpapi.OpenAPI(s))
		if err != nil || strings.Contains(string(text), `"/v1/cluster"`) != (s == gateway) {
			t.Errorf("the description is %.200s, %v", text, err)
		}
	}
}

// Every row of the tables is of something that is there: a path of some role of the server,
// a field of a body, a query parameter.
func TestTheDescriptionHasNothingElse(t *testing.T) {
	used := map[string]bool{}
	for _, one := range []*httpapi.Server{httpapi.New(httpapi.Deps{Models: httpapi.Serving(), Cluster: nobody{}}), httpapi.New(httpapi.Deps{Models: httpapi.Serving(), Gateway: true, Cluster: nobody{}})} {
		for _, e := range one.Endpoints() {
			used[e.Path] = true
			for _, q := range one.QueriesOf(e.Path) {
				used["?"+q] = true
			}
		}
	}
	fields := []reflect.Type{httpapi.NativeSampling, httpapi.MessageHead, httpapi.ContentPart}
	for path, body := range httpapi.BodyOf {
		if !used[path] {
			t.Errorf("%s is described, and no server has it", path)
		}
		if body != nil {
			fields = append(fields, body)
		}
	}
	names := map[string]bool{}
	for _, body := range fields {
		for _, path := range httpapi.JSONFields(body) {
			names[path[len(path)-1]] = true
		}
	}
	delete(names, "") // of embedded structs
	if got, want := slices.Sorted(maps.Keys(httpapi.DescribedFields)), slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
		t.Errorf("fields are described: %v; the bodies have %v", got, want)
	}
	for _, q := range httpapi.Queries {
		if httpapi.DescribedQueries[q] == "" || !used["?"+q] {
			t.Errorf("the query parameter %s is not described, or no endpoint has it", q)
		}
	}
	if len(httpapi.DescribedQueries) != len(httpapi.Queries) {
		t.Errorf("%d query parameters are described, there are %d", len(httpapi.DescribedQueries), len(httpapi.Queries))
	}
}

// nobody is a cluster for the sake of its endpoints.
type nobody struct{ httpapi.Cluster }

// What is described is accepted by the handlers, and what is not is refused: query
// parameters and fields, one by one.
func TestHandlersTakeWhatIsDescribed(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Change: withEvents(0), HTTP: httpapi.Options{UnknownFields: httpapi.UnknownFieldsRefuse}})
	unknown := func(a answer) bool {
		return strings.Contains(string(a.body), `"unknown_parameter"`) || strings.Contains(string(a.body), "unknown parameter")
	}
	checked := 0
	for _, e := range s.HTTP.Endpoints() {
		if e.Method == "GET" && httpapi.DescribedEndpoints[e.Path].Streams() {
			continue // a stream without an end; its parameters have tests of their own
		}
		queries := s.HTTP.QueriesOf(e.Path)
		for _, q := range queries {
			checked++
			if a := send(t, s, e.Method, e.Path+"?"+q+"=1", nil); unknown(a) {
				t.Errorf("%s %s does not know ?%s=: %s", e.Method, e.Path, q, a.body)
			}
		}
		if a := send(t, s, e.Method, e.Path+"?surely_not=1", nil); len(queries) > 0 && !unknown(a) {
			t.Errorf("%s %s takes any query parameter: %d", e.Method, e.Path, a.status)
		}
		body := httpapi.BodyOf[e.Path]
		if body == nil || e.Path == "/generate" && body.NumField() == 0 {
			continue
		}
		for _, path := range httpapi.JSONFields(body) {
			var value any = []int{}[:0] // of no scalar field, so nothing runs; unknown fields are named first
			for _, name := range slices.Backward(path) {
				if name != "" {
					value = object{name: value}
				}
			}
			checked++
			if a := send(t, s, e.Method, e.Path, value); unknown(a) {
				t.Errorf("%s does not know the field %v: %s", e.Path, path, a.body)
			}
		}
		if a := send(t, s, e.Method, e.Path, object{"surely_not": 1}); !unknown(a) {
			t.Errorf("%s takes any field: %d %s", e.Path, a.status, a.body)
		}
	}
	if checked < 100 {
		t.Errorf("only %d parameters were tried", checked)
	}
}

// A client library's view of the description: an example is a valid body.
func TestExamplesAreBodies(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for path, d := range httpapi.DescribedEndpoints {
		example := d.Example()
		if example == "" || strings.HasPrefix(path, "/v1/cluster") {
			continue
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(example), &body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		body["max_tokens"] = 2
		if !strings.Contains(path, "completions") {
			delete(body, "max_tokens")
		}
		if a := send(t, s, "POST", path, body); a.status != 200 {
			t.Errorf("%s with its example: %d %s", path, a.status, a.body)
		}
	}
}

func TestDocsInABrowser(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	b := openBrowser(t, s.URL)
	b.run(chromedp.Navigate(s.URL + "/docs"))
	b.until(fmt.Sprintf(`document.querySelectorAll("#endpoints details").length === %d`, len(s.HTTP.Endpoints())))
	eval[any](b, `document.querySelector("#endpoints summary").click(); null`)
	if text := eval[string](b, `document.querySelector("#endpoints details").textContent`); !strings.Contains(text, "POST /v1/chat/completions") || !strings.Contains(text, "temperature") || !strings.Contains(text, "curl") {
		t.Errorf("the first endpoint is %s", text)
	}
	pictures(b, "docs")
}
