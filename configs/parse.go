package configs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse sets the field to a value from viper: a text of the environment or of a flag, a
// default, or a value of the file. viper's own conversions are not used: they turn text
// that is not a number into 0, and split lists at spaces.
func (s *setting) parse(from any) error {
	noun := nouns[fmt.Sprintf("%T", s.value())]
	list, isList := s.to.(*[]string)
	_, isText := s.to.(*string)
	switch is := kind(from); {
	case from == nil:
		return fmt.Errorf("has no value; give %s", noun)
	case is == aMap, is == aList && !isList:
		return fmt.Errorf("is %s; it must be %s", is, noun)
	case is != aList && is != aString && (isList || isText):
		return fmt.Errorf("is %s; put it in quotes", is)
	}
	if entries, ok := from.([]any); ok {
		for i, entry := range entries {
			if is := kind(entry); entry != nil && is != aString {
				return fmt.Errorf("has %s as entry %d; it must be a string in quotes", is, i+1)
			}
		}
	}
	if isList { // without empty items: an empty variable or flag is an empty list
		*list = slices.DeleteFunc(items(from), blank)
		return nil
	}
	text := written(from)
	var err error
	switch to := s.to.(type) {
	case *string:
		*to = text
	case *time.Duration:
		*to, err = time.ParseDuration(text)
	case *int:
		*to, err = strconv.Atoi(text)
	case *int64:
		*to, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
	case *bool:
		*to, err = strconv.ParseBool(text)
	default:
		return fmt.Errorf("bug: settings of type %T are not supported; please report this", s.value())
	}
	if err != nil {
		return fmt.Errorf("is %q; it must be %s", text, noun)
	}
	return nil
}

const aMap, aList, aString = "a map", "a list", "a string"

// kind describes the type of a value. Formats read 0123 as 83 and 1.10 as 1.1, so a text
// without quotes may no longer be what the user wrote.
func kind(value any) string { return cmp.Or(kinds[reflect.ValueOf(value).Kind()], "a number") }

var kinds = map[reflect.Kind]string{
	reflect.Map: aMap, reflect.Slice: aList, reflect.String: aString, reflect.Bool: "a boolean", reflect.Struct: "a date or time",
}

// items converts a value to a new list. A text is split at commas.
func items(from any) (list []string) {
	switch x := from.(type) {
	case []string: // a flag, which is split already
		return slices.Clone(x)
	case []any: // a file
		for _, item := range x {
			text, _ := item.(string) // null is empty
			list = append(list, text)
		}
		return list
	}
	for item := range strings.SplitSeq(fmt.Sprint(from), ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

// written formats a value as users write it. In JSON a whole number can be a float.
func written(value any) string {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return fmt.Sprint(value)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// checkKey refuses empty API keys, also in lists; parse has already checked the type.
func (s *setting) checkKey(from any) error {
	keys := []string{fmt.Sprint(from)}
	if _, list := s.to.(*[]string); list {
		keys = items(from)
	}
	switch {
	case len(keys) > 0 && !slices.ContainsFunc(keys, blank):
		return nil
	case len(keys) < 2:
		return errors.New("is empty, which would open the server to everyone; unset it, or give a key")
	}
	return errors.New("has an empty key beside others; remove it, or give a key")
}
