package configs

import (
	"cmp"
	"fmt"
	"strings"
)

func (c *Config) Values() (values []Value) {
	for _, s := range c.settings() {
		values = append(values, Value{s.key, s.value(), cmp.Or(c.sources[s.key], fromDefault), s.is(live), s.is(secret)})
	}
	return values
}

// Value is a setting with its source, for `troupe inspect config`.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"` // default, file …, line …, environment …, flag …
	Live   bool   `json:"live"`   // it can change while a server runs
	secret bool
}

// Hide replaces an API key with "(set)": printed settings get pasted.
func (v *Value) Hide() {
	switch {
	case !v.secret || v.Text() == `""`:
	case v.Value == v.Text(): // one key
		v.Value = "(set)"
	default:
		v.Value = []string{"(set)"}
	}
}

// Text returns the value as users write it.
func (v *Value) Text() string { return shown(v.Value) }

func shown(value any) string {
	if list, ok := value.([]string); ok {
		value = strings.Join(list, ",")
	}
	if value == "" {
		return `""`
	}
	return fmt.Sprint(value)
}
