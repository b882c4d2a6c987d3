package output

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// types is a set of JSON types.
type types uint8

const (
	aString types = 1 << iota
	aNumber
	aBool
	aNull
	anArray
	anObject
	anything types = 1<<iota - 1
)

var typeNames = map[string]types{"string": aString, "number": aNumber, "integer": aNumber, "boolean": aBool,
	"null": aNull, "array": anArray, "object": anObject}

// tool is a tool whose parameters' types are read when they are first needed.
type tool struct {
	parameters json.RawMessage
	types      map[string]types
}

func newTool(t Tool) *tool { return &tool{parameters: t.Parameters} }

// typesOf returns what a parameter may be. A parameter without a schema may be anything.
func (t *tool) typesOf(key string) types {
	if t == nil {
		return anything
	}
	if t.types == nil {
		t.types = map[string]types{}
		var root map[string]any
		if json.Unmarshal(t.parameters, &root) == nil {
			properties, _ := root["properties"].(map[string]any)
			r := typeReader{root: root, refs: map[string]types{}}
			for _, name := range slices.Sorted(maps.Keys(properties)) { // cycles are read alike each time
				t.types[name] = r.types(properties[name], 0)
			}
		}
	}
	if ts, ok := t.types[key]; ok {
		return ts
	}
	return anything
}

// typeReader reads the types of schemas within a root. The schema behind a reference is read once:
// one that refers to itself many times would take for ever.
type typeReader struct {
	root  map[string]any
	refs  map[string]types // anything while the schema behind it is being read
	depth int              // references in a row
}

// maxNested and maxRefs bound how many schemas, and references, are followed in a row.
const maxNested, maxRefs = 16, 64

// types returns the types that a schema allows, or a superset.
func (r *typeReader) types(schema any, depth int) types {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxNested {
		return anything
	}
	ts := anything
	switch t := s["type"].(type) {
	case string:
		ts = typeNames[t]
	case []any:
		ts = 0
		for _, one := range t {
			name, _ := one.(string)
			ts |= typeNames[name]
		}
	}
	if list, ok := s["enum"].([]any); ok {
		ts &= typesOfValues(list)
	}
	if value, ok := s["const"]; ok {
		ts &= typesOfValues([]any{value})
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, ok := s[word].([]any); ok {
			var some types
			for _, one := range list {
				some |= r.types(one, depth+1)
			}
			ts &= some
		}
	}
	if list, ok := s["allOf"].([]any); ok {
		for _, one := range list {
			ts &= r.types(one, depth+1)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		ts &= r.behind(ref)
	}
	if ts == 0 {
		return anything
	}
	return ts
}

// behind returns the types of the schema that a reference names.
func (r *typeReader) behind(ref string) types {
	if ts, known := r.refs[ref]; known {
		return ts
	}
	if r.depth == maxRefs {
		return anything
	}
	r.refs[ref] = anything
	r.depth++
	ts := r.types(resolve(r.root, ref), 0)
	r.depth--
	r.refs[ref] = ts
	return ts
}

// resolve finds a schema by a pointer within the root.
func resolve(root map[string]any, ref string) any {
	rest, ok := strings.CutPrefix(ref, "#")
	var at any = root
	for _, step := range strings.Split(rest, "/")[1:] {
		m, isMap := at.(map[string]any)
		if !ok || !isMap {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

func typesOfValues(list []any) types {
	var ts types
	for _, v := range list {
		switch v.(type) {
		case string:
			ts |= aString
		case float64:
			ts |= aNumber
		case bool:
			ts |= aBool
		case nil:
			ts |= aNull
		case []any:
			ts |= anArray
		default:
			ts |= anObject
		}
	}
	return ts
}

// typeOf returns the type of a JSON text.
func typeOf(text string) types {
	switch text[0] {
	case '"':
		return aString
	case '{':
		return anObject
	case '[':
		return anArray
	case 't', 'f':
		return aBool
	case 'n':
		return aNull
	}
	return aNumber
}

// convert makes JSON of a parameter's text. A text that is JSON of an allowed type is that,
// another one is read as Python would write it, and all else is a string.
func convert(text string, ts types) string {
	trimmed := strings.TrimSpace(text)
	if trimmed != "" && json.Valid([]byte(trimmed)) && (typeOf(trimmed)&ts != 0 && (typeOf(trimmed) != aString || ts == anything)) {
		return trimmed
	}
	if ts != anything {
		if v, ok := fromPython(trimmed); ok && typeOf(v)&ts&^aString != 0 {
			return v
		}
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(text); i++ {
		b.WriteString(quoteByte(text[i]))
	}
	b.WriteByte('"')
	return b.String()
}

// fromPython makes JSON of a value as Python writes it.
func fromPython(text string) (string, bool) {
	var b strings.Builder
	r := &relaxed{form: Python, out: func(s string) { b.WriteString(s) }, state: relaxedValue, stack: []relaxedFrame{{}}}
	for i := 0; i < len(text); i++ {
		if r.step(text[i]) != more {
			return "", false
		}
	}
	// The frame without an end takes a newline as the end of a word.
	if r.step('\n') != more || r.state != relaxedAfter || len(r.stack) != 1 {
		return "", false
	}
	return b.String(), json.Valid([]byte(b.String()))
}
