package configs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// listFlag is a flag of several texts, repeated or separated by commas. pflag's
// own drops a text that is empty, so that a key from an unset variable would
// not be noticed.
type listFlag struct {
	items []string
	set   bool
}

// Set implements pflag.Value. The first one replaces the default.
func (l *listFlag) Set(text string) error {
	items := []string{""}
	if text != "" {
		var err error
		if items, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	if !l.set {
		l.items, l.set = nil, true
	}
	l.items = append(l.items, items...)
	return nil
}

// String implements pflag.Value.
func (l *listFlag) String() string { return strings.Join(l.items, ",") }

// Type implements pflag.Value.
func (l *listFlag) Type() string { return "stringSlice" }

// emptyKey reports a key that was given and is empty, alone or within a list.
// No value at all is parseInto's error.
func emptyKey(kind reflect.Type, value any) error {
	var keys []string
	switch v := value.(type) {
	case string:
		keys = []string{v}
		if kind.Kind() == reflect.Slice {
			keys = strings.Split(v, ",")
		}
	case []string: // a flag
		keys = v
	case []any: // YAML
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
	return errors.New("has an empty key beside others; take it out, or give a key")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// Append implements pflag.SliceValue. It adds a text.
func (l *listFlag) Append(text string) error {
	l.items = append(l.items, text)
	return nil
}

// Replace implements pflag.SliceValue. It sets all texts.
func (l *listFlag) Replace(items []string) error {
	l.items = items
	return nil
}

// GetSlice implements pflag.SliceValue. It gives the texts, empty ones included.
func (l *listFlag) GetSlice() []string { return l.items }

// withoutBlank leaves empty texts out of a list of a flag: an empty flag is an
// empty list, as it is in the environment.
func withoutBlank(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), blank)
}
