package configs

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/suggest"
)

// parseInto sets a field from what viper gives: a text of the environment or of
// a flag, a default, or a value of the file's format. viper's own conversions
// are not used: they take 0 for a text that is not a number, and split lists at
// spaces.
func parseInto(field reflect.Value, from any) error {
	noun := nounOf(field.Type())
	switch x := from.(type) {
	case nil:
		return fmt.Errorf("has no value; give %s", noun)
	case map[string]any:
		return fmt.Errorf("a map is not %s", noun)
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			if e != nil {
				parts[i] = written(e)
			}
		}
		from = parts
	}
	if list, ok := from.([]string); ok {
		if field.Kind() != reflect.Slice {
			return fmt.Errorf("a list is not %s", noun)
		}
		field.Set(reflect.ValueOf(withoutBlank(list)))
		return nil
	}
	text := written(from)
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
		n, err = strconv.ParseInt(text, 10, field.Type().Bits())
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
		list := strings.Split(text, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		field.Set(reflect.ValueOf(withoutBlank(list)))
	default:
		return fmt.Errorf("settings of type %s are not supported", field.Type())
	}
	if err != nil {
		return fmt.Errorf("%q is not %s%s", text, noun, example(field.Type()))
	}
	return nil
}

// written is a value as a person writes it. JSON has one kind of number, so a
// whole one may come as a float.
func written(value any) string {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return fmt.Sprint(value)
}

// withoutBlank leaves out empty texts: an empty variable or flag is an empty
// list.
func withoutBlank(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), blank)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// emptyKey reports a key that was given and is empty, alone or in a list. field
// is the kind of setting that value is for. No value at all is parseInto's error.
func emptyKey(field, value any) error {
	var keys []string
	switch v := value.(type) {
	case string:
		keys = []string{v}
		if _, list := field.([]string); list {
			keys = strings.Split(v, ",")
		}
	case []string: // a flag
		keys = v
	case []any: // a file
		for _, key := range v {
			if key == nil {
				key = ""
			}
			keys = append(keys, fmt.Sprint(key))
		}
	default:
		return nil
	}
	switch {
	case !slices.ContainsFunc(keys, blank) && len(keys) > 0:
		return nil
	case len(keys) < 2:
		return errors.New("is empty, which would open the server to everyone; unset it, or give a key")
	}
	return errors.New("has an empty key beside others; remove it, or give a key")
}

// nounOf names the values of a type.
func nounOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration"
	case t.Kind() == reflect.Slice:
		return "a list of strings"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.String:
		return "a string"
	}
	return "an integer"
}

// example is a remedy for values that are not written as people expect.
func example(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "; use for example 30s or 2m"
	}
	return ""
}

// Wanted describes the values of a flag, by the type name that pflag gives it.
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
		return "an integer of at least 0"
	case "int32Slice", "intSlice":
		return "integers separated by commas"
	}
	return "a " + flagType
}

// nearest suggests a name for an unknown one.
func nearest(name string, known []string) string {
	if at := Nearest(name, known); at != "" {
		return fmt.Sprintf("; did you mean %s?", at)
	}
	return "; `troupe inspect config` lists all settings"
}

// Nearest is the known name that was probably meant, "" if none is near.
func Nearest(name string, known []string) string {
	return suggest.Nearest(name, known, len(name)/2)
}
