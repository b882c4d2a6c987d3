// Package traces reads the traces that a server records, for tests.
package traces

import (
	"errors"
	"io"
	"testing"

	"github.com/troupe-engine/troupe/lab/trace"
)

// Read is all requests of a recorded trace.
func Read(t testing.TB, path string) []*trace.Request {
	t.Helper()
	r, err := trace.Open(path, "jsonl", trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []*trace.Request
	for {
		next, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, next)
	}
}
