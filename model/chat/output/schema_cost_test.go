package output

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A schema that refers to itself many times costs no more than a large one: a client wrote it.
func TestTypesOfHostileSchemas(t *testing.T) {
	self := `{"$ref":"#/$defs/a"},`
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		text := `{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"type":"string"}},"$defs":{"a":{"` + word + `":[` + strings.TrimSuffix(strings.Repeat(self, 50), ",") + `]}}}`
		done := make(chan []string, 1)
		go func() {
			types := Tool{Name: "f", Parameters: json.RawMessage(text)}.Types()
			done <- append(types("x"), types("y")...)
		}()
		select {
		case got := <-done:
			if len(got) != 7 || got[6] != "string" {
				t.Errorf("%s: the types are %v; want all of x, and string of y", word, got)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: it takes too long", word)
		}
	}
}
