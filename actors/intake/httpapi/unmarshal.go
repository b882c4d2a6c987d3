package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/chat"
)

// Bounds of what a body may hold, whatever its size.
const (
	// maxValues bounds the values and keys of a body, without its prompts. A long
	// conversation of agents with its tools has some ten thousand.
	maxValues = 1 << 18
	maxDepth  = 500

	maxDigits     = 4300    // bytes of a number: as many as Python reads
	maxFieldBytes = 1 << 20 // of a parameter that is neither messages nor prompt
)

// promptJSON is the JSON of texts or token ids; its readers have their own bounds.
type promptJSON json.RawMessage

// templateValue is a value for a chat template, nil for null. Its texts share the body's memory.
type templateValue struct{ value any }

// unmarshal reads one JSON object into a struct, whose raw parts are parts of body. It
// refuses repeated keys. left takes the keys that the struct does not have; if it is nil,
// they are errors with the nearest known name. It ends early with ctx.
//
// A body is read twice: to check that it is UTF-8, and by jsonread, which checks
// everything else and builds the template's values. Only what has bounds is read
// again: parameters of at most maxFieldBytes each, and the contents of a promptJSON.
func unmarshal(ctx context.Context, body []byte, into any, left *leftovers) *apiError {
	if err := unmarshalFields(ctx, body, reflect.ValueOf(into).Elem(), "", left); err != nil {
		return jsonError(ctx, err)
	}
	return nil
}

// readObject reads an object within a body that has been read. Unknown members are left out: what
// they mean is the chat template's business.
func readObject(raw []byte, into any, at string) *apiError {
	ctx := context.Background() // the body has its bounds
	if err := unmarshalFields(ctx, raw, reflect.ValueOf(into).Elem(), at+".", &leftovers{}); err != nil {
		return jsonError(ctx, err)
	}
	return nil
}

// ways are how fields of these types are read; Check is the way of others.
var ways = map[reflect.Type]jsonread.Way{
	reflect.TypeFor[promptJSON]():    jsonread.Skim,
	reflect.TypeFor[templateValue](): jsonread.Build,
}

// unmarshalFields fills a struct from an object; prefix is where the object is.
func unmarshalFields(ctx context.Context, body []byte, into reflect.Value, prefix string, left *leftovers) error {
	fields := fieldsOf(into.Type())
	return jsonread.Object(ctx, body, jsonread.Limits{Values: maxValues, Depth: maxDepth, Digits: maxDigits}, chat.Builder,
		func(key string) (jsonread.Way, error) {
			f, known := fields[key]
			if !known && (left == nil || strictMembers[into.Type()]) {
				return jsonread.Check, unknownField(prefix+key, didYouMean(key, fieldNames(into.Type())))
			}
			if !known {
				return jsonread.Check, nil
			}
			return ways[f.Type], nil
		},
		func(m jsonread.Member) error {
			f, known := fields[m.Key]
			if !known {
				left.take(prefix, m.Key, m.Value, into.Type())
				return nil
			}
			return unmarshalField(ctx, m, into.FieldByIndex(f.Index), prefix+m.Key, left)
		})
}

// unmarshalField fills one field of a struct.
func unmarshalField(ctx context.Context, m jsonread.Member, into reflect.Value, name string, left *leftovers) error {
	switch t := into.Type(); {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8: // JSON
		if !isNull(m.Value) {
			into.SetBytes(m.Value)
		}
		return nil
	case t == reflect.TypeFor[templateValue]():
		into.Set(reflect.ValueOf(templateValue{m.Built}))
		return nil
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && m.Value[0] == '{': // its fields have the bound
		into.Set(reflect.New(t.Elem()))
		return unmarshalFields(ctx, m.Value, into.Elem(), name+".", left)
	case len(m.Value) > maxFieldBytes:
		return invalid(name, "%s has %d bytes of JSON; at most %d are allowed", name, own(len(m.Value)), own(maxFieldBytes))
	}
	err := json.Unmarshal(m.Value, into.Addr().Interface())
	var wrongType *json.UnmarshalTypeError
	var ours *apiError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &wrongType):
		return invalid(name, "%s must be %s, not %s", name, own(jsonType(wrongType.Type)), article(wrongType.Value))
	}
	return invalid(name, "%s cannot be read: %v", name, err)
}

// jsonError converts an error of unmarshalFields.
func jsonError(ctx context.Context, err error) *apiError {
	if ours, ok := errors.AsType[*apiError](err); ok {
		return ours
	}
	e, ok := errors.AsType[*jsonread.Error](err)
	if !ok {
		return clientGone(ctx, err)
	}
	path := clip(e.Path, maxErrorParam)
	switch e.Kind {
	case jsonread.NotUTF8:
		return invalid("", "the body is not valid UTF-8 at byte %d; send JSON in UTF-8", own(e.Offset))
	case jsonread.Cut:
		if e.Offset == 0 {
			return invalid("", "the request body is empty; send a JSON object")
		}
		return invalid("", "the request body is incomplete JSON")
	case jsonread.NotObject:
		return invalid("", "the body must be a JSON object, not %s", own(cmp.Or(kindNames[e.Found], "a boolean")))
	case jsonread.More:
		return invalid("", "more text follows the JSON object at byte %d; send exactly one object", own(e.Offset))
	case jsonread.Repeated:
		return newError(http.StatusBadRequest).coded("repeated_parameter").about(path).
			say("duplicate key %s at byte %d; send it once", path, own(e.Offset))
	case jsonread.TooMany:
		return invalid(path, "the body has more than %d values and keys besides its prompts (reached at %s); send fewer", own(maxValues), path)
	case jsonread.TooDeep:
		return invalid(path, "%s is nested more than %d levels deep; flatten it", path, own(maxDepth))
	case jsonread.LongNumber:
		return invalid(path, "%s is a number of more than %d characters; send a shorter number, or a string", path, own(maxDigits))
	}
	return invalid("", "the body is not valid JSON at byte %d: %s", own(e.Offset), e.Found)
}

// kindNames describe values by their first character, as jsonread.Error has it.
var kindNames = map[string]string{"[": "an array", `"`: "a string", "0": "a number", "n": "null"}

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
	return fmt.Sprintf("a %d-bit integer without a decimal point or exponent", t.Bits())
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

// given is the value of an optional parameter.
func given[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// skipSpace cuts the white space of JSON off the front.
func skipSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// isNull reports whether a value is absent or JSON's null.
func isNull[T ~[]byte](raw T) bool { return len(raw) == 0 || string(raw) == "null" }

// eachOf calls visit for at most most entries of a list, and reports whether raw is one.
func eachOf(raw []byte, name string, most int, visit func(i int, one []byte) *apiError) (isArray bool, err *apiError) {
	isArray, failed := jsonread.Elements(raw, func(i int, one []byte) error {
		if i == most {
			err = invalid(name, "%s has more than %d entries; split the request", name, own(most))
		} else if err = visit(i, one); err == nil {
			return nil // not a nil *apiError
		}
		return err
	})
	if failed != nil && err == nil {
		err = invalid("", "the body cannot be read: %v", failed)
	}
	return isArray, err
}

// clipJSON is the beginning of a value, to quote it.
func clipJSON(value []byte) string { return clip(string(value[:min(len(value), 65)]), 64) }
