package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// recorder is a test that may fail or be skipped.
type recorder struct {
	testing.TB
	said string
}

func (*recorder) Helper()                          {}
func (r *recorder) Skipf(format string, a ...any)  { r.end(format, a) }
func (r *recorder) Fatalf(format string, a ...any) { r.end(format, a) }
func (r *recorder) Fatal(a ...any)                 { r.end("%v", a) }
func (r *recorder) end(format string, a []any) {
	r.said = fmt.Sprintf(format, a...)
	panic(r)
}

// said is the word with which f ends its test, empty where it does not.
func said(t *testing.T, f func(t testing.TB)) (word string) {
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		word = r.said
	}()
	f(r)
	return ""
}

func TestPath(t *testing.T) {
	t.Setenv(variable, "")
	if got := said(t, func(t testing.TB) { Path(t, "a") }); !strings.Contains(got, variable+" is not set") {
		t.Errorf("without a folder: %q", got)
	}
	t.Setenv(variable, "data")
	if got, below := Path(t), Path(t, "a/b", "c"); got != "data" || below != filepath.Join("data", "a", "b", "c") {
		t.Errorf("%s and %s", got, below)
	}
}

func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	for _, c := range []struct{ text, want string }{
		{"{\"ids\":[1,2]}\n{\"decode\":\"x\"}\n", ""},
		{"{\"ids\":[1,2]}\n{\"decode\":\"x\"}", ""},
		{"", "is empty"},
		{"{\"ids\":[1]}\n{\"ids\":[2}\n", "line 2: invalid character"},
		{"{\"ids\":[1]}\n{\"ids\":\"one\"}\n", "line 2: json: cannot unmarshal"},
		{"{\"ids\":[1]}\n{\"ids\":[", "line 2: unexpected EOF"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []Text
		if word := said(t, func(t testing.TB) { got = Lines[Text](t, file) }); (word == "") != (c.want == "") || !strings.Contains(word, c.want) {
			t.Errorf("%q: %q, want %q", c.text, word, c.want)
		} else if want := []Text{{IDs: []int32{1, 2}}, {Decode: "x"}}; word == "" && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", c.text, got, want)
		}
	}
	if word := said(t, func(t testing.TB) { Lines[Text](t, file+"x") }); !strings.Contains(word, "a.jsonlx") {
		t.Errorf("a file that is not there: %q", word)
	}
}
