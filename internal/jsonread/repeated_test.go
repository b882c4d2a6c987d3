package jsonread

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree is a JSON value for the property below.
type tree struct {
	kind   byte // one of {["0
	keys   []string
	values []tree
}

func drawTree(t *rapid.T, depth int) tree {
	kinds := `"0`
	if depth > 0 {
		kinds = `{["0`
	}
	v := tree{kind: kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]}
	if v.kind == '{' || v.kind == '[' {
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			v.keys = append(v.keys, rapid.SampledFrom([]string{"a", "b", "c", "d", "A", "é", `q"`}).Draw(t, "key"))
			v.values = append(v.values, drawTree(t, depth-1))
		}
	}
	return v
}

// write renders a tree with random white space.
func (v tree) write(t *rapid.T, b *strings.Builder) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")) }
	space()
	switch v.kind {
	case '"':
		b.WriteString(`"{\"a\":[,:]}"`)
	case '0':
		b.WriteString("-1e999")
	default:
		b.WriteByte(v.kind)
		for i := range v.values {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.kind == '{' {
				space()
				key, _ := json.Marshal(v.keys[i])
				b.Write(key)
				space()
				b.WriteByte(':')
			}
			v.values[i].write(t, b)
		}
		space()
		b.WriteByte(v.kind + 2) // } and ] are two after { and [
	}
	space()
}

// twice searches the tree for the path of the first repeated key.
func (v tree) twice(path string, top bool) string {
	for i, inner := range v.values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if v.kind == '{' {
			if at = path + "." + v.keys[i]; top {
				at = v.keys[i]
			}
			if slices.ContainsFunc(v.keys[:i], func(k string) bool { return k == v.keys[i] }) {
				return at
			}
		}
		if found := inner.twice(at, false); found != "" {
			return found
		}
	}
	return ""
}

func TestRepeatedKeysAgainstTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawTree(t, 4)
		v.kind = '{'
		var b strings.Builder
		v.write(t, &b)
		if !json.Valid([]byte(b.String())) {
			t.Fatalf("not JSON: %s", b.String())
		}
		found := ""
		if _, err := read(b.String(), wide); err != nil {
			found = err.Path
		}
		if want := v.twice("", true); found != want {
			t.Fatalf("%s: found %q, want %q", b.String(), found, want)
		}
	})
}
