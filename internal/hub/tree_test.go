package hub

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a hub lists, a file that is accepted lies below the directory, has a size that
// can be counted and a hash that is a file name.
func FuzzTree(f *testing.F) {
	f.Add(`[{"type":"file","path":"config.json","size":7,"oid":"0123456789012345678901234567890123456789"}]`)
	f.Add(`[{"type":"directory","path":"a"},{"type":"file","path":"../a","size":-1,"oid":"x"}]`)
	f.Add(`[{"type":"file","path":"a/b.gguf","size":1,"oid":"","lfs":{"oid":"` + strings.Repeat("ab", 32) + `","size":18446744073709551615}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var entries entryList
		if json.Unmarshal([]byte(text), &entries) != nil {
			return
		}
		for i := range entries {
			file, ok, err := entries[i].file()
			if err != nil || !ok {
				continue
			}
			in, err := filepath.Rel("/cache", filepath.Join("/cache", filepath.FromSlash(file.Path)))
			if err != nil || in == "." || strings.HasPrefix(in, "..") && !filepath.IsLocal(in) || strings.ContainsAny(file.Path, "\x00\\") {
				t.Errorf("the path %q is accepted", file.Path)
			}
			if file.Size < 0 || len(file.Hash) != 40 && len(file.Hash) != 64 || strings.Trim(file.Hash, "0123456789abcdef") != "" {
				t.Errorf("%+v is accepted", file)
			}
		}
	})
}
