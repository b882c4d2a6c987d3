package shell_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/internal/invariants"
)

// A panic may carry what a client sent.
func TestAFaultQuotesNobody(t *testing.T) {
	caught := func(f func()) (text string) {
		defer func() { text = shell.Fault(recover()) }()
		f()
		return ""
	}
	const secret = "my secret"
	var none map[string]int
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"runtime":   {func() { none[secret] = 1 }, "assignment to entry in nil map"},
		"invariant": {func() { invariants.Fail("page %d owned twice", 7) }, "page 7 owned twice"},
		"string":    {func() { panic("the text " + secret) }, "type string"},
		"error":     {func() { panic(errors.New(secret)) }, "type *errors.errorString"},
		"struct":    {func() { panic(struct{ s string }{secret}) }, "type struct"},
	} {
		if got := caught(c.f); !strings.Contains(got, c.want) || strings.Contains(got, secret) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
