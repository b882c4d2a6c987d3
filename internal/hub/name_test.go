package hub

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Name{
		"Qwen/Qwen2.5-0.5B":           {"Qwen", "Qwen2.5-0.5B", "", ""},
		"a/b:Q4_K_M":                  {"a", "b", "Q4_K_M", ""},
		"a/b@v1.0":                    {"a", "b", "", "v1.0"},
		"a/b:q8_0@refs/pr/3":          {"a", "b", "q8_0", "refs/pr/3"},
		"https://huggingface.co/a/b/": {"a", "b", "", ""},
		"hf.co/a/b:Q8_0":              {"a", "b", "Q8_0", ""},
		"hf://a/b":                    {"a", "b", "", ""},
		"a/b@0123456789abcdef0123456789abcdef01234567":          {"a", "b", "", "0123456789abcdef0123456789abcdef01234567"},
		strings.Repeat("o", 96) + "/" + strings.Repeat("r", 96): {strings.Repeat("o", 96), strings.Repeat("r", 96), "", ""},
	} {
		got, err := Parse(text)
		if err != nil || got != want || !IsName(text) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "a", "/", "a/", "/a", "./a", "../a", "a/b/c", "/a/b", "~/a", "a//b", "a/b:", "a/b@", "a/b@/x", "a/b@x/../y", "a/b@x//y", "a/b@x/", "a/b@x.", "a/b@x./y", "a/b@nul", "a/b@x/COM1.y", "a/b@x/./y",
		"a/b.gguf", "models/x.safetensors", `a\b`, "a b/c", "a/b c", "a--b/c", "a/b..c", "-a/b", ".a/b", "a/.b", "a/b-", "a./b", "C:/a", "ä/b",
		strings.Repeat("o", 97) + "/b", "a/b@" + strings.Repeat("r", 201), "a/b:" + strings.Repeat("q", 129), "a/b:x/y", "a/b\x00"} {
		if n, err := Parse(text); err == nil || IsName(text) || !strings.Contains(err.Error(), "write ORG/REPO") {
			t.Errorf("%q is %+v, %v", text, n, err)
		}
	}
}

// Whatever is a name is safe as a part of paths and addresses.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a/b", "a/b:c@d", "hf.co/a/b@refs/pr/1", "a/../b", "a/b@..", "a:b/c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(n.String()); err != nil || again != n {
			t.Errorf("%+v is read as %+v, %v", n, again, err)
		}
		for _, p := range []string{folder(n), n.revision()} {
			if !safePath(p) {
				t.Errorf("%q is not a safe path", p)
			}
		}
	})
}
