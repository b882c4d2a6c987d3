package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/internal/suggest"
)

func unknownField(name, suggestion string) *apiError {
	return newError(http.StatusBadRequest).coded("unknown_parameter").about(name).
		say("%s is not a parameter of this endpoint%s", clip(name, 64), own(suggestion))
}

// knownQuery refuses query parameters that an endpoint does not have.
func knownQuery(query url.Values, known ...string) *apiError {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return unknownField(name, didYouMean(clip(name, 64), known))
		}
	}
	return nil
}

// fieldTables has the fields of each type of body by their JSON names, as
// map[string]reflect.StructField by reflect.Type. There are few types of bodies.
var fieldTables sync.Map

// fieldsOf lists the fields of a struct and of those that it embeds.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if table, ok := fieldTables.Load(t); ok {
		return table.(map[string]reflect.StructField)
	}
	table := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" {
			table[name] = f
		}
	}
	fieldTables.Store(t, table)
	return table
}

// jsonName is the key of a field, "" for one that has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldNames lists the JSON names of a struct's parameters, in order.
func fieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// didYouMean suggests the nearest of names, if one is near: one that has all words
// of name, as max_new_tokens has those of max_tokens, or else by edit distance.
func didYouMean(name string, names []string) string {
	words := strings.Split(name, "_")
	near := slices.IndexFunc(names, func(n string) bool {
		has := strings.Split(n, "_")
		return len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) })
	})
	nearest := ""
	if near >= 0 {
		nearest = names[near]
	} else if nearest = suggest.Nearest(name, names, 1+len(name)/3); nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", nearest)
}

// requestBodies are the bodies that endpoints take, and the objects within them.
var requestBodies = []any{chatRequest{}, completionRequest{}, generateRequest{}, gatewayRequest{}, tokenizeRequest{}, detokenizeRequest{}, abortBody{}, actionBody{},
	messageHead{}, contentPart{}}

var queries = []string{"depth", "nodes", "tokens", "format", "after", "model", "node"}

// parameters are all names of the API.
var parameters = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, name := range queries {
		names[name] = true
	}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for name, f := range fieldsOf(t) {
			names[name] = true
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				add(f.Type.Elem())
			}
		}
	}
	for _, body := range requestBodies {
		add(reflect.TypeOf(body))
	}
	for _, of := range foreignTable() {
		for name := range of {
			names[name] = true
		}
	}
	return names
})

// parameter is the path of a known parameter for the log, without the client's indices.
func parameter(path string) (name string, known bool) {
	if path == "" || len(path) > maxErrorParam {
		return "", false
	}
	name = indices.ReplaceAllLiteralString(path, "[…]")
	for part := range strings.SplitSeq(name, ".") {
		if !parameters()[strings.TrimSuffix(part, "[…]")] {
			return "", false
		}
	}
	return name, true
}

var indices = regexp.MustCompile(`\[[][0-9]*`)
