package configs

import (
	"errors"
	"fmt"
	"math"
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
	switch from.(type) {
	case nil:
		return fmt.Errorf("has no value; give %s", noun)
	case map[string]any:
		return fmt.Errorf("is a map; it must be %s", noun)
	case []any, []string:
		if !isList {
			return fmt.Errorf("is a list; it must be %s", noun)
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

// items converts a value to a new list. A text is split at commas.
func items(from any) (list []string) {
	switch x := from.(type) {
	case []string: // a flag, which is split already
		return slices.Clone(x)
	case []any: // a file
		for _, item := range x {
			if item == nil {
				item = ""
			}
			list = append(list, written(item))
		}
		return list
	}
	for item := range strings.SplitSeq(written(from), ",") {
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
