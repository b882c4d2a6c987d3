package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// openAPIVersion is the version of the specification that /openapi.json follows.
const openAPIVersion = "3.0.3"

// openAPI describes the endpoints of this server. Bodies come from the structs that read
// them. It takes a millisecond, and clients need no key for the result.
func (s *Server) openAPI() any {
	paths := map[string]map[string]any{}
	for _, rt := range s.routes() {
		d := describedEndpoints[rt.path]
		path := strings.ReplaceAll(rt.path, "...}", "}")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(rt.method)] = s.operation(&rt, &d)
	}
	return map[string]any{
		"openapi": openAPIVersion,
		"info": map[string]any{"title": "Troupe", "version": "1",
			"description": "An LLM serving engine: OpenAI's API under /v1, SGLang's native /generate, health, metrics and administration. Fields of other servers that are not listed here are accepted or refused; see docs/api.md."},
		"paths": paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"key":   map[string]any{"type": "http", "scheme": "bearer", "description": "an API key, if the server has any"},
				"admin": map[string]any{"type": "http", "scheme": "bearer", "description": "the admin key, if the server has any key"},
			},
			"schemas": map[string]any{"Error": errorSchema},
		},
	}
}

var errorSchema = object("message, type, param and code, as in OpenAI's API", map[string]any{
	"error": object("", map[string]any{"message": kind("string"), "type": kind("string"), "param": map[string]any{"type": "string", "nullable": true}, "code": map[string]any{"type": "string", "nullable": true}}),
})

func kind(name string) map[string]any { return map[string]any{"type": name} }

func object(description string, properties map[string]any) map[string]any {
	o := map[string]any{"type": "object", "properties": properties}
	if description != "" {
		o["description"] = description
	}
	return o
}

// operation describes one endpoint.
func (s *Server) operation(rt *route, d *describedEndpoint) map[string]any {
	ok := map[string]any{"description": d.answer}
	content := map[string]any{}
	for _, kind := range d.kinds {
		content[kind] = map[string]any{"schema": map[string]any{}}
	}
	if len(content) > 0 {
		ok["content"] = content
	}
	op := map[string]any{
		"summary": d.summary, "tags": []string{d.group}, "operationId": strings.Trim(strings.NewReplacer("/", "_", "{", "", "}", "", "...", "").Replace(strings.ToLower(rt.method)+rt.path), "_"),
		"responses": map[string]any{"200": ok, "default": map[string]any{
			"description": "an error: what is wrong, where, and how to fix it",
			"content":     map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Error"}}},
		}},
	}
	if need := map[access]string{forUsers: "key", forAdmin: "admin"}[rt.access]; need != "" {
		op["security"] = []any{map[string]any{need: []string{}}}
	}
	parameters := []any{}
	for _, name := range s.queriesOf(d) {
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "description": describedQueries[name], "schema": kind("string")})
	}
	if strings.Contains(rt.path, "{id") {
		parameters = append(parameters, map[string]any{"name": "id", "in": "path", "required": true, "description": "the model's name", "schema": kind("string")})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if body := s.bodyOf(rt.path, d); body != nil {
		schema := schemaOf(body)
		if len(d.required) > 0 {
			schema["required"] = d.required
		}
		media := map[string]any{"schema": schema}
		if d.example != "" {
			media["example"] = json.RawMessage(d.example)
		}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": media}}
	}
	return op
}

// bodyOf is the body of an endpoint; nil: it has none.
func (s *Server) bodyOf(path string, d *describedEndpoint) reflect.Type {
	if path == "/generate" && s.Gateway {
		return reflect.TypeFor[gatewayRequest]()
	}
	return d.body
}

// queriesOf are the query parameters of an endpoint of this server.
func (s *Server) queriesOf(d *describedEndpoint) []string {
	if d.perModel && s.Gateway {
		return append(slices.Clone(d.queries), "model")
	}
	return d.queries
}

// schemaOf describes a body by its fields.
func schemaOf(t reflect.Type) map[string]any {
	properties := map[string]any{}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		schema := valueSchema(name, fields[name].Type)
		schema["description"] = describedFields[name]
		properties[name] = schema
	}
	return object("", properties)
}

// valueSchema describes the values of a field.
func valueSchema(name string, t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	text := kind("string")
	switch {
	case t == reflect.TypeFor[stopList]():
		return map[string]any{"oneOf": []any{text, map[string]any{"type": "array", "items": text}}}
	case t == reflect.TypeFor[promptJSON](): // texts, token ids, or lists of them
		return map[string]any{"oneOf": []any{text, map[string]any{"type": "array", "items": map[string]any{}}}}
	case name == "messages":
		return map[string]any{"type": "array", "items": object("a message; other fields are given to the chat template", map[string]any{
			"role": text, "content": map[string]any{"oneOf": []any{text, map[string]any{"type": "array", "items": schemaOf(reflect.TypeFor[contentPart]())}}}})}
	case name == "stop_token_ids":
		return map[string]any{"type": "array", "items": kind("integer")}
	case name == "enable_thinking":
		return kind("boolean")
	case name == "think":
		return map[string]any{"oneOf": []any{kind("boolean"), text}}
	case name == "thinking":
		return map[string]any{"oneOf": []any{kind("boolean"), object("", map[string]any{"type": text})}}
	case t == reflect.TypeFor[templateValue]():
		return kind("object")
	}
	switch t.Kind() {
	case reflect.Bool:
		return kind("boolean")
	case reflect.Float64:
		return kind("number")
	case reflect.Int, reflect.Int32, reflect.Int64:
		return kind("integer")
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": valueSchema("", t.Elem())}
	case reflect.Struct:
		return schemaOf(t)
	}
	return text
}

// docsPage shows the description to browsers.
func (s *Server) docsPage(w http.ResponseWriter, r *http.Request) *apiError {
	if !files.Serve(w, r, "docs.html") {
		return unknownEndpoint(r)
	}
	return nil
}
