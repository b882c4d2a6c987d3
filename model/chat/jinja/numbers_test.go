package jinja

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongIntegersAreNotRead: a number that is too long is refused by its
// length, before it is copied.
func TestLongIntegersAreNotRead(t *testing.T) {
	const most = 16 << 10 // bytes
	digits := strings.Repeat("7", 1<<20)
	json := []byte("[" + digits + "]")
	for name, read := range map[string]func() (any, bool){
		"JSON":       func() (any, bool) { v, err := DecodeJSON(json); return v, err == nil },
		"digits":     func() (any, bool) { return parseInt(digits) },
		"literal":    func() (any, bool) { v, err := try(func() any { return intLiteral(digits) }); return v, err == nil },
		"int filter": func() (any, bool) { return toInt(digits) },
	} {
		n := allocated(func() {
			if v, ok := read(); ok {
				t.Errorf("%s: %d digits were read, as %T", name, len(digits), v)
			}
		})
		if n > most {
			t.Errorf("%s: refusing %d digits allocates %d bytes, more than %d", name, len(digits), n, most)
		}
	}
	for _, s := range []string{strings.Repeat("9", maxDigits), "-9223372036854775808", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "-0"} {
		v, ok := parseInt(s)
		if want := strings.Replace(s, "-0", "0", 1); !ok || plain(v) != want {
			t.Errorf("%.30s: got %.30s, %v", s, plain(v), ok)
		}
	}
	_, err := DecodeJSON([]byte(`{"x": ` + digits[:maxDigits+1] + `}`))
	if err == nil || err.Error() != "a number has too many digits (x), at byte 4307" {
		t.Errorf("error %v", err)
	}
}

// TestOnePlaceReadsIntegers: decimal integers come out of text in parseInt
// alone, which looks at the length.
func TestOnePlaceReadsIntegers(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	found := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		found += strings.Count(string(src), "ParseInt(s, 10") + strings.Count(string(src), "math/big")
	}
	if found != 1 {
		t.Errorf("integers are read in %d places, want only parseInt", found)
	}
}
