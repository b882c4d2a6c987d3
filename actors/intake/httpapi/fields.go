package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/internal/suggest"
)

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

// fieldNames lists the JSON names of a struct and those it embeds, except those of
// parameters that are not supported.
func fieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" && f.Type != reflect.TypeFor[unsupportedJSON]() {
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

// jsonTypes are Go's kinds in JSON's words, other than integers.
var jsonTypes = map[reflect.Kind]string{
	reflect.Bool: "a boolean", reflect.String: "a string", reflect.Slice: "an array", reflect.Array: "an array",
	reflect.Map: "an object", reflect.Struct: "an object", reflect.Float32: "a number", reflect.Float64: "a number",
}

// jsonType is a Go type in JSON's words.
func jsonType(t reflect.Type) string {
	if name, ok := jsonTypes[t.Kind()]; ok {
		return name
	}
	return fmt.Sprintf("an integer of %d bits", t.Bits())
}

// article describes a value of which encoding/json says what it is.
func article(value string) any {
	kind, literal, found := strings.Cut(value, " ")
	switch {
	case found: // "number 1.5"
		return clip(literal, 64)
	case kind == "bool":
		return own("a boolean")
	case kind == "array", kind == "object":
		return own("an " + kind)
	}
	return own("a " + kind)
}
