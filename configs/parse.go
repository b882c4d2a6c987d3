package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/suggest"
)

// parseInto sets a field from a text (environment, flag, default) or from what
// YAML made of it.
func parseInto(field reflect.Value, from any) error {
	if list, ok := from.([]any); ok {
		parts := make([]string, len(list))
		for i, e := range list {
			parts[i] = fmt.Sprint(e)
		}
		from = parts
	}
	if list, ok := from.([]string); ok {
		if field.Kind() != reflect.Slice {
			return fmt.Errorf("is a list, want %s", kindName(field.Type()))
		}
		field.Set(reflect.ValueOf(list))
		return nil
	}
	if from == nil {
		return fmt.Errorf("has no value, want %s", kindName(field.Type()))
	}
	if reflect.TypeOf(from).Kind() == reflect.Map {
		return fmt.Errorf("is a map, want %s", kindName(field.Type()))
	}
	text := fmt.Sprint(from)
	var err error
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case time.Duration:
		var d time.Duration
		d, err = time.ParseDuration(text)
		field.SetInt(int64(d))
	case int, int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		field.SetInt(n)
	case float64:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		field.SetFloat(f)
	case bool:
		var b bool
		b, err = strconv.ParseBool(text)
		field.SetBool(b)
	case []string:
		var list []string
		for _, part := range strings.Split(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		field.Set(reflect.ValueOf(list))
	default:
		return fmt.Errorf("settings of type %s are not known", field.Type())
	}
	if err != nil {
		return fmt.Errorf("is %q, want %s", text, kindName(field.Type()))
	}
	return nil
}

func kindName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration like 30s or 2m"
	case t.Kind() == reflect.Slice:
		return "a list of texts"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "an integer"
}

// Wanted words what a flag takes, by the type name that pflag gives it.
func Wanted(flagType string) string {
	switch flagType {
	case "duration":
		return "a duration like 30s or 2m"
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	case "int", "int64":
		return "an integer"
	case "uint64":
		return "an integer from 0 on"
	case "int32Slice", "intSlice":
		return "integers separated by commas"
	}
	return "a " + flagType
}

// nearest words a suggestion for an unknown name.
func nearest(name string, known []string) string {
	if at := Nearest(name, known); at != "" {
		return fmt.Sprintf("; did you mean %s?", at)
	}
	return "; `troupe inspect config` lists all of them"
}

// Nearest is the known name that was probably meant, "" when none is near.
func Nearest(name string, known []string) string {
	return suggest.Nearest(name, known, len(name)/2)
}
