package httpapi

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// fieldTables has the fields of each type of body, by their JSON names:
// reflect.Type to map[string]reflect.StructField. Bodies have a handful of
// types, so it does not grow.
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
	if name == "-" {
		return ""
	}
	return name
}

// fieldNames lists the JSON names of a struct and those it embeds, but those
// that are refused anyhow.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Type == reflect.TypeFor[refusable](), f.Type == reflect.TypeFor[refusableNative](), f.Type == reflect.TypeFor[refusableSampling]():
			continue
		case f.Anonymous:
			names = append(names, fieldNames(f.Type)...)
			continue
		}
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// jsonType says a Go type in JSON's words.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return fmt.Sprintf("an integer of %d bits", t.Bits())
}

// article puts words to what encoding/json calls a value.
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
