package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// openAPI is OpenAI's description of its API as JSON Schemas.
type openAPI struct {
	document object
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

const openAPIURL = "openapi.json"

// loadOpenAPI closes every object: a field that the description does not name is an error.
func loadOpenAPI(t *testing.T) *openAPI { return readOpenAPI(t, tighten) }

func readOpenAPI(t *testing.T, change func(schema any)) *openAPI {
	t.Helper()
	data, err := os.ReadFile(conformance.Path(t, "openai", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	document := value.(object)
	for _, schema := range document["components"].(object)["schemas"].(object) {
		change(schema)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(openAPIURL, document); err != nil {
		t.Fatal(err)
	}
	return &openAPI{document: document, compiler: c, schemas: map[string]*jsonschema.Schema{}}
}

// tighten closes objects and turns nullable, a word of OpenAPI 3.0 that the
// description still uses here and there, into JSON Schema. Parts of an allOf
// stay open: what they describe is the whole, and none of ours uses one.
func tighten(v any) {
	switch s := v.(type) {
	case list:
		for _, one := range s {
			tighten(one)
		}
	case object:
		for key, one := range s {
			if key != "example" && key != "examples" && key != "default" && key != "enum" {
				tighten(one)
			}
		}
		if s["type"] == "object" && s["properties"] != nil && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		} else if s["type"] == nil && s["properties"] != nil && s["required"] != nil && s["allOf"] == nil && s["oneOf"] == nil && s["anyOf"] == nil {
			if _, isSchema := s["properties"].(object); isSchema { // Model forgets its type
				s["additionalProperties"] = false
			}
		}
		if s["nullable"] == true {
			inner := maps.Clone(s)
			delete(inner, "nullable")
			clear(s)
			s["anyOf"] = list{inner, object{"type": "null"}}
		}
	}
}

// check validates a JSON value with a schema of the description.
func (o *openAPI) check(t *testing.T, name string, value any) {
	t.Helper()
	if err := o.validate(t, name, value); err != nil {
		data, _ := json.Marshal(value)
		t.Errorf("%s: %v\n%s", name, err, data)
	}
}

func (o *openAPI) validate(t *testing.T, name string, value any) error {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	schema := o.schemas[name]
	if schema == nil {
		var err error
		if schema, err = o.compiler.Compile(openAPIURL + "#/components/schemas/" + name); err != nil {
			t.Fatal(err)
		}
		o.schemas[name] = schema
	}
	data, _ := json.Marshal(value)
	exact, err := jsonschema.UnmarshalJSON(bytes.NewReader(data)) // numbers as written
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(exact)
}

// The check itself detects missing and unknown fields and wrong types.
func TestConformanceCheckIsStrict(t *testing.T) {
	api := loadOpenAPI(t)
	good := func() object {
		return object{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
			"choices": list{object{"index": 0, "finish_reason": "stop", "logprobs": nil, "message": object{"role": "assistant", "content": "a", "refusal": nil}}}}
	}
	const name = "CreateChatCompletionResponse"
	api.check(t, name, good())
	for what, spoil := range map[string]func(object){
		"extra field":       func(o object) { o["extra"] = 1 },
		"extra in message":  func(o object) { at(t, o, "choices", 0, "message").(object)["extra"] = 1 },
		"extra in usage":    func(o object) { o["usage"].(object)["extra"] = 1 },
		"no refusal":        func(o object) { delete(at(t, o, "choices", 0, "message").(object), "refusal") },
		"null finish":       func(o object) { at(t, o, "choices", 0).(object)["finish_reason"] = nil },
		"wrong type":        func(o object) { o["created"] = "now" },
		"unknown reason":    func(o object) { at(t, o, "choices", 0).(object)["finish_reason"] = "abort" },
		"no choices at all": func(o object) { delete(o, "choices") },
	} {
		o := good()
		if spoil(o); api.validate(t, name, o) == nil {
			t.Errorf("%s: not noticed", what)
		}
	}
	if api.validate(t, "Model", object{"id": "m", "object": "model", "created": 1, "owned_by": "x", "max_model_len": 1}) == nil {
		t.Error("an extra field of a model is not noticed")
	}
	if api.validate(t, "ErrorResponse", object{"error": object{"message": "x", "type": "y", "param": nil}}) == nil {
		t.Error("an error without a code is not noticed")
	}
}

func TestConformanceResponses(t *testing.T) {
	api := loadOpenAPI(t)
	s := testserver.Start(t, testserver.Options{EOSChance: .02})
	for _, more := range []object{{}, {"n": 2}, {"logprobs": true}, {"logprobs": true, "top_logprobs": 4, "n": 2}, {"stop": "e"}} {
		for seed := range 4 {
			body := merge(object{"messages": hello, "max_tokens": 15, "seed": seed}, more)
			api.check(t, "CreateChatCompletionResponse", post(t, s, "/v1/chat/completions", body))
			for _, usage := range []bool{false, true} {
				stream := merge(body, object{"stream": true, "stream_options": object{"include_usage": usage}})
				for _, chunk := range chunks(t, s, "/v1/chat/completions", stream) {
					api.check(t, "CreateChatCompletionStreamResponse", chunk)
				}
			}
		}
	}
	for _, more := range []object{{}, {"n": 2}, {"echo": true}, {"logprobs": 0}, {"logprobs": 3, "echo": true}, {"prompt": list{"a", "b"}},
		{"max_tokens": 0, "echo": true, "logprobs": 1}, {"stop": "e"}} {
		for seed := range 4 {
			body := merge(object{"prompt": onceUpon, "max_tokens": 15, "seed": seed}, more)
			api.check(t, "CreateCompletionResponse", post(t, s, "/v1/completions", body))
			for _, chunk := range chunks(t, s, "/v1/completions", merge(body, object{"stream": true, "stream_options": object{"include_usage": true}})) {
				checkCompletionChunk(t, api, chunk)
			}
		}
	}
	models := send(t, s, "GET", "/v1/models", nil).object(t)
	withoutContext(t, at(t, models, "data", 0).(object))
	api.check(t, "ListModelsResponse", models)
	model := send(t, s, "GET", "/v1/models/"+testserver.ModelID, nil).object(t)
	withoutContext(t, model)
	api.check(t, "Model", model)
}

// withoutContext removes the two fields of a model that OpenAI's description lacks, under
// the names that clients of other servers read.
func withoutContext(t *testing.T, model object) {
	t.Helper()
	for _, name := range []string{"context_length", "max_model_len"} {
		if model[name] == nil {
			t.Errorf("the model has no %s", name)
		}
		delete(model, name)
	}
}

// checkCompletionChunk allows what OpenAI's server does but its description lacks: a
// chunk before the end has the finish_reason null, and with include_usage a chunk
// before the last has the usage null. The description has one schema for chunks and
// whole answers.
func checkCompletionChunk(t *testing.T, api *openAPI, chunk object) {
	t.Helper()
	if usage, there := chunk["usage"]; there && usage == nil {
		delete(chunk, "usage")
	}
	for _, choice := range chunk["choices"].(list) {
		if c := choice.(object); c["finish_reason"] == nil {
			if _, there := c["finish_reason"]; !there {
				t.Errorf("a chunk without finish_reason: %v", chunk)
			}
			c["finish_reason"] = "stop"
		}
	}
	api.check(t, "CreateCompletionResponse", chunk)
}

func TestConformanceErrors(t *testing.T) {
	api := loadOpenAPI(t)
	s := testserver.Start(t, testserver.Options{MaxOpen: 1, HTTP: httpapi.Options{APIKeys: []string{"k"}, MaxBodyBytes: 5000}})
	key := []string{"Authorization", "Bearer k"}
	check := func(a answer, status int) {
		t.Helper()
		if a.status != status {
			t.Errorf("status %d, want %d: %s", a.status, status, a.body)
		}
		api.check(t, "ErrorResponse", a.object(t))
	}
	check(send(t, s, "GET", "/v1/models", nil), 401)
	check(send(t, s, "GET", "/v1/models/x", nil, key...), 404)
	check(send(t, s, "GET", "/nowhere", nil, key...), 404)
	check(send(t, s, "GET", "/v1/completions", nil, key...), 405)
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		check(send(t, s, "POST", path, "{", key...), 400)
		check(send(t, s, "POST", path, object{"temperature": 9, "prompt": "a"}, key...), 400)
		check(send(t, s, "POST", path, object{"nonsense": 9}, key...), 400)
		check(send(t, s, "POST", path, strings.Repeat(" ", 6000), key...), 413)
		check(send(t, s, "POST", path, "{}", append(key, "Content-Type", "text/plain")...), 415)
	}
	check(send(t, s, "POST", "/v1/completions", object{"prompt": list{"a", "b"}}, key...), 400)
}

// Every parameter of the description is known here: accepted, or refused as not
// supported, but never as unknown.
func TestConformanceRequestParametersAreKnown(t *testing.T) {
	api := loadOpenAPI(t)
	s := testserver.Start(t, testserver.Options{})
	for path, c := range map[string]struct {
		schema string
		base   object
	}{
		"/v1/chat/completions": {"CreateChatCompletionRequest", object{"messages": hello, "max_tokens": 1}},
		"/v1/completions":      {"CreateCompletionRequest", object{"prompt": "a", "max_tokens": 1}},
	} {
		names := properties(t, api.document, object{"$ref": "#/components/schemas/" + c.schema})
		if len(names) < 15 {
			t.Fatalf("%s has the properties %v only", c.schema, names)
		}
		for _, name := range names {
			for _, value := range []any{nil, "x", 1, true, list{}, object{}} {
				a := send(t, s, "POST", path, merge(c.base, object{name: value}))
				if a.status == 200 {
					continue
				}
				if e := errorOf(t, a); e["code"] == "unknown_parameter" || a.status >= 500 {
					t.Errorf("%s with %s = %v: %d %v", path, name, value, a.status, e)
				}
			}
		}
	}
}

// properties lists the names of an object in a schema, through references and
// compositions.
func properties(t *testing.T, document object, schema object) []string {
	t.Helper()
	var names []string
	var walk func(s object)
	walk = func(s object) {
		if ref, ok := s["$ref"].(string); ok {
			walk(document["components"].(object)["schemas"].(object)[strings.TrimPrefix(ref, "#/components/schemas/")].(object))
		}
		if of, ok := s["allOf"].(list); ok {
			for _, one := range of {
				walk(one.(object))
			}
		}
		if props, ok := s["properties"].(object); ok {
			names = append(names, slices.Collect(maps.Keys(props))...)
		}
	}
	walk(schema)
	slices.Sort(names)
	return slices.Compact(names)
}
