package jinja

import (
	"encoding/json"
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

// TestLongIntegersAreNotRead: reading n digits takes more than n steps, so a
// number that is too long is refused by its length. What would be made of the
// digits shows in the memory: 0.4 bytes a digit and more.
func TestLongIntegersAreNotRead(t *testing.T) {
	const most = 16 << 10 // bytes
	digits := strings.Repeat("7", 1<<20)
	rt := testRuntime()
	for name, read := range map[string]func() (any, bool){
		"JSON":          func() (any, bool) { v, err := parseNumber(digits, true); return v, err == nil },
		"negative JSON": func() (any, bool) { v, err := parseNumber("-"+digits[:1<<19], true); return v, err == nil },
		"json.Number":   func() (any, bool) { v, err := FromGo(json.Number(digits)); return v, err == nil },
		"literal":       func() (any, bool) { v, err := intLiteral(digits); return v, err == nil },
		"hex literal":   func() (any, bool) { v, err := intLiteral("0x" + digits[:1<<19]); return v, err == nil },
		"int filter":    func() (any, bool) { return toInt(digits, 10) },
		"int base 36":   func() (any, bool) { return toInt(digits, 36) },
		"power": func() (any, bool) {
			v, err := rt.binary("**", int64(7), int64(1<<20))
			return v, err == nil
		},
	} {
		limit := uint64(most)
		if strings.Contains(name, "negative") || strings.Contains(name, "hex") {
			limit += 1 << 20 // the text made here
		}
		n := allocated(func() {
			if v, ok := read(); ok {
				t.Errorf("%s: %d digits were read, as %T", name, len(digits), v)
			}
		})
		if n > limit {
			t.Errorf("%s: refusing %d digits allocates %d bytes, more than %d", name, len(digits), n, limit)
		}
	}
	for _, s := range []string{strings.Repeat("9", maxDigits), "-9223372036854775808", "9223372036854775807", "9223372036854775808", "-0"} {
		v, err := parseNumber(s, true)
		if want := strings.Replace(s, "-0", "0", 1); err != nil || plain(v) != want {
			t.Errorf("%.30s: got %.30s, %v", s, plain(v), err)
		}
	}
	_, err := DecodeJSON([]byte(`{"x": ` + digits[:maxDigits+1] + `}`))
	if err == nil || err.Error() != "integer of 4301 digits, at most 4300 are allowed" {
		t.Errorf("error %v", err)
	}
}

// TestOnePlaceReadsIntegers: big integers come out of text in parseInt alone,
// which looks at the length.
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
		found += strings.Count(string(src), "big.Int).SetString(")
	}
	if found != 1 {
		t.Errorf("big integers are read in %d places, want only parseInt", found)
	}
}
