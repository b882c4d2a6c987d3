package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/troupe-engine/troupe/model/grammar/earley"
)

// acceptsReordered reports whether some order of the properties of data makes
// a compact text that the grammar has. It gives up after many steps.
func (r *recogniser) acceptsReordered(t *testing.T, data []byte) bool {
	t.Helper()
	steps := 5_000_000
	text := func(c *earley.Config, s string) *earley.Config {
		for i := 0; i < len(s) && c != nil; i++ {
			if steps--; steps < 0 {
				return nil
			}
			next, err := r.Next(c, s[i])
			if err != nil {
				t.Fatal(err)
			}
			c = next
		}
		return c
	}
	var value func(c *earley.Config, data []byte, then func(*earley.Config) bool) bool
	value = func(c *earley.Config, data []byte, then func(*earley.Config) bool) bool {
		switch data[0] {
		case '[':
			var items []json.RawMessage
			if err := json.Unmarshal(data, &items); err != nil {
				t.Fatal(err)
			}
			var from func(c *earley.Config, i int) bool
			from = func(c *earley.Config, i int) bool {
				switch {
				case c == nil:
					return false
				case i == len(items):
					return then(text(c, "]"))
				case i > 0:
					c = text(c, ",")
				}
				return c != nil && value(c, items[i], func(c *earley.Config) bool { return from(c, i+1) })
			}
			return from(text(c, "["), 0)
		case '{':
			keys, values := members(t, data)
			used := make([]bool, len(keys))
			var from func(c *earley.Config, n int) bool
			from = func(c *earley.Config, n int) bool {
				if c == nil {
					return false
				}
				if n == len(keys) {
					return then(text(c, "}"))
				}
				if n > 0 {
					if c = text(c, ","); c == nil {
						return false
					}
				}
				for i := range keys {
					if used[i] {
						continue
					}
					at := text(c, keys[i]+":")
					if at == nil {
						continue
					}
					used[i] = true
					if value(at, values[i], func(c *earley.Config) bool { return from(c, n+1) }) {
						return true
					}
					used[i] = false
				}
				return false
			}
			return from(text(c, "{"), 0)
		}
		c = text(c, string(data))
		return c != nil && then(c)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	return value(r.Start(), compact.Bytes(), func(c *earley.Config) bool { return c != nil && c.CanEnd() })
}

// members splits an object into its keys, as written, and values.
func members(t *testing.T, data []byte) (keys []string, values [][]byte) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() != '}' {
		key, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(key))
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, bytes.Clone(v))
	}
	return keys, values
}
