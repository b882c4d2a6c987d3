package golden

import (
	"os"
	"testing"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (*recorder) Helper()                 {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/a.txt", []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for got, fails := range map[string]bool{"one\n": false, "one": true, "two\n": true, "": true} {
		r := &recorder{TB: t}
		if Compare(r, "a.txt", got); r.failed != fails {
			t.Errorf("%q: failed %v", got, r.failed)
		}
	}
	defer func(was bool) { *rewrite = was }(*rewrite)
	*rewrite = true
	r := &recorder{TB: t}
	for _, name := range []string{"a.txt", "new.txt"} {
		Compare(r, name, "two\n")
		if text, err := os.ReadFile("testdata/" + name); err != nil || string(text) != "two\n" || r.failed || !Rewriting() {
			t.Errorf("%s holds %q, %v, failed %v", name, text, err, r.failed)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		line         int
		restA, restB string
	}{
		{"1\n2\n3\n", "1\n3\n", 2, "2\n", ""},
		{"1\n3\n", "1\n2\n3\n", 2, "", "2\n"},
		{"1\n2\n3\n", "1\n4\n3\n", 2, "2\n", "4\n"},
		{"", "1\n", 1, "", "1\n"},
		{"1", "1\n", 1, "1", "1\n"},
	} {
		if line, a, b := difference(c.a, c.b); line != c.line || a != c.restA || b != c.restB {
			t.Errorf("%q and %q: line %d, %q and %q", c.a, c.b, line, a, b)
		}
	}
}
