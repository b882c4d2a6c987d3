package httpapi

import (
	"reflect"
	"slices"
	"strings"
)

// Endpoint is a row of the table of routes, for tests outside the package.
type Endpoint struct{ Method, Path string }

// Endpoints are all rows.
func (s *Server) Endpoints() []Endpoint {
	var all []Endpoint
	for _, rt := range s.routes() {
		all = append(all, Endpoint{rt.method, rt.path})
	}
	return all
}

// BodyOf is the body of each endpoint, nil if it has none.
var BodyOf = func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for path, d := range describedEndpoints {
		all[path] = d.body
	}
	return all
}()

// The tables of the description of the API.
var (
	DescribedEndpoints = describedEndpoints
	DescribedQueries   = describedQueries
	DescribedFields    = describedFields
)

// Streams reports whether the answer is a stream without an end.
func (d describedEndpoint) Streams() bool { return len(d.kinds) == 1 && d.kinds[0] == asEvents }

// Example is an example of the body, JSON.
func (d describedEndpoint) Example() string { return d.example }

// QueriesOf are the query parameters that the description has for a path.
func (s *Server) QueriesOf(path string) []string {
	d := describedEndpoints[path]
	return s.queriesOf(&d)
}

// The objects within bodies that are read after the body itself.
var (
	NativeSampling = reflect.TypeFor[sampling]()
	MessageHead    = reflect.TypeFor[messageHead]()
	ContentPart    = reflect.TypeFor[contentPart]()
)

// Registered reports whether the log knows the fields of a body by name.
func Registered(body reflect.Type) bool {
	return slices.ContainsFunc(requestBodies, func(b any) bool { return reflect.TypeOf(b) == body })
}

// OpenAPI is the description of a server.
func OpenAPI(s *Server) any { return s.openAPI() }

// Queries are the query parameters.
var Queries = queries

// JSONFields are the paths of the fields of a struct, those of structs within
// it included.
func JSONFields(t reflect.Type) (paths [][]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			paths = append(paths, []string{name})
		}
		if inner.Kind() == reflect.Struct {
			for _, deeper := range JSONFields(inner) {
				if !f.Anonymous {
					deeper = append([]string{name}, deeper...)
				}
				paths = append(paths, deeper)
			}
		}
	}
	return paths
}

// BoardRuns reports whether frames of the board are made.
func BoardRuns(s *Server) bool {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	return s.board.stop != nil
}
