package hub

import (
	"strings"
	"testing"
)

func TestSafePath(t *testing.T) {
	for path, want := range map[string]bool{"a": true, "a/b.json": true, "a/b c": true, ".gitattributes": true, "a.b/c": true, "console/com10/nullify.txt": true, "com.txt": true,
		"": false, "/a": false, "../a": false, "a/../b": false, "a/..": false, "./a": false, "a//b": false, "a/": false, `a\b`: false, "C:/a": false, "a\x00": false, "a\n": false,
		strings.Repeat("a", 1001): false, "..": false, ".": false, "...": false,
		"a.": false, "a ": false, "a./b": false, "a /b": false, ".. /b": false,
		"NUL": false, "a/con": false, "nul.txt": false, "aux.tar.gz/b": false, "prn .txt": false, "COM1": false, "lpt9.x": false, "com\u00b2": false, "CONOUT$": false} {
		if got := safePath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
