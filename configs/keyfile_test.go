package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
)

func TestKeyFile(t *testing.T) {
	sum := sha256.Sum256([]byte("secret-b"))
	keys, err := ParseKeys([]byte("keys:\n  - name: ann\n    rights: use\n    key: secret-a\n  - {name: b.ob-1, rights: admin, sha256: " + strings.ToUpper(hex.EncodeToString(sum[:])) + "}\n"))
	must(t, err)
	want := []httpapi.Key{{Name: "ann", Digest: sha256.Sum256([]byte("secret-a"))}, {Name: "b.ob-1", Admin: true, Digest: sum}}
	if len(keys) != 2 || keys[0] != want[0] || keys[1] != want[1] {
		t.Errorf("%+v", keys)
	}
}

// Errors say where and what to do, and quote no key.
func TestBadKeyFiles(t *testing.T) {
	entry := func(text string) string { return "keys:\n  - {" + text + "}\n" }
	for text, want := range map[string]string{
		"":                    "the file is empty",
		"# nothing\n":         "the file is empty",
		"keys: []":            "the list of keys is empty",
		"keys:\n  secret-x":   "only the entry keys, with a list",
		"secret-x":            "only the entry keys, with a list",
		"keys:\n  - secret-x": "line 2: an entry must have name",
		"keys: [\n":           "line",
		"keys: *secret-x":     "must be in quotes",
		entry("name: a"):      "line 2: the rights of a must be use or admin",
		entry("rights: use"):  "line 2: name must have",
		entry("name: 'a b', rights: use, key: secret-x"):                                        "line 2: name must have",
		entry("name: " + strings.Repeat("a", 65) + ", rights: use, key: secret-x"):              "line 2: name must have 1 to 64",
		entry("name: admin-api-key, rights: use, key: secret-x"):                                "is that of a key of the settings",
		entry("name: api-key-0123abcd, rights: use, key: secret-x"):                             "is that of a key of the settings",
		entry("name: a, rights: use, key: secret-x") + "---\nkeys: []\n":                        "after the first YAML document",
		entry("name: a, rights: use, key: secret-x") + "...\nkeys: []\n":                        "after the first YAML document",
		entry("name: a, rights: root, key: secret-x"):                                           "must be use or admin",
		entry("name: a, rights: use"):                                                           "must have either key or sha256",
		entry("name: a, rights: use, key: secret-x, sha256: 00"):                                "must have either key or sha256",
		entry("name: a, rights: use, sha256: secret-x"):                                         "64 hexadecimal digits",
		entry("name: a, rights: use, key: ''"):                                                  "printable ASCII",
		entry("name: a, rights: use, key: 'secret-x y'"):                                        "printable ASCII",
		entry("name: a, rights: use, key: secret-xü"):                                           "printable ASCII",
		entry("name: a, rights: use, key:"):                                                     "the value of every field must be text",
		entry("name: a, rights: use, key: [secret-x]"):                                          "the value of every field must be text",
		entry("name: a, rights: use, secret-x: b"):                                              "unknown field",
		entry("name: a, rights: use, key: secret-x, key: b"):                                    "appears twice",
		entry("name: a, rights: use, key: b}\n  - {name: a, rights: use, key: secret-x"):        "line 3: the name a is already used in line 2",
		entry("name: a, rights: use, key: secret-x}\n  - {name: b, rights: use, key: secret-x"): "line 3: the key of b is the same as the one in line 2",
	} {
		_, err := ParseKeys([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-x") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	many.WriteString("keys:\n")
	for i := range maxKeys + 1 {
		fmt.Fprintf(&many, "  - {name: n%d, rights: use, key: k%d}\n", i, i)
	}
	if _, err := ParseKeys([]byte(many.String())); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Errorf("too many keys: %v", err)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add("keys:\n  - name: ann\n    rights: use\n    key: abc\n")
	f.Add("keys: [{name: a, rights: admin, sha256: 00}]")
	f.Add("keys: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys([]byte(text))
		if err == nil && len(keys) == 0 {
			t.Error("no keys and no error: the server would be open")
		}
		for _, k := range keys {
			if !KeyName.MatchString(k.Name) || k.Digest == sha256.Sum256(nil) {
				t.Errorf("%+v", k)
			}
		}
	})
}

// A file of keys is read with the settings; its changes are a change of the setting.
func TestKeysOfAFileAreSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	t.Setenv("TROUPE_API_KEYS_FILE", file)
	if _, err := Load("", nil); err == nil || !strings.Contains(err.Error(), "; make it with troupe keys new, or unset api-keys-file (environment TROUPE_API_KEYS_FILE)") {
		t.Errorf("a missing file: %v", err)
	}
	write("keys: [{name: a, rights: use, key: one}]")
	first, err := Load("", nil)
	must(t, err)
	write("keys: [{name: a, rights: admin, key: one}]")
	second, err := Load("", nil)
	must(t, err)
	if changed, err := first.Changes(second); err != nil || len(changed) != 1 || changed[0] != "api-keys-file" {
		t.Errorf("changes %q, error %v", changed, err)
	}
	if changed, err := second.Changes(second); err != nil || len(changed) != 0 {
		t.Errorf("no change: %q, error %v", changed, err)
	}
	t.Setenv("TROUPE_API_KEY", "one")
	if _, err := Load("", nil); err == nil || !strings.Contains(err.Error(), "a key of api-keys-file equals api-key") {
		t.Errorf("a key that is set twice: %v", err)
	}
	t.Setenv("TROUPE_API_KEY", "two")
	t.Setenv("TROUPE_API_KEYS_FILE", "")
	without, err := Load("", nil)
	must(t, err)
	if _, err := second.Changes(without); err == nil || !strings.Contains(err.Error(), "api-keys-file was removed") {
		t.Errorf("removed: %v", err)
	}
}

// Keys can be exchanged alone: of the other settings nothing is taken over.
func TestKeysAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	t.Setenv("TROUPE_API_KEYS_FILE", file)
	load := func(key, page string) *Config {
		must(t, os.WriteFile(file, []byte("keys: [{name: a, rights: use, key: "+key+"}]"), 0o600))
		t.Setenv("TROUPE_PAGE_SIZE", page)
		c, err := Load("", nil)
		must(t, err)
		return c
	}
	now, next := load("one", "16"), load("two", "32")
	with := now.WithKeys(next)
	if with == nil || with.PageSize != 16 || with.HTTP.Keys[0] != next.HTTP.Keys[0] || now.HTTP.Keys[0] == next.HTTP.Keys[0] {
		t.Errorf("with the keys: %+v", with)
	}
	if with := now.WithKeys(load("one", "64")); with != nil {
		t.Error("the same keys are a change")
	}
	if with := now.WithKeys(Default()); with != nil {
		t.Error("no keys are taken over")
	}
}

// The keys of the file can be read again without the other settings.
func TestKeysNow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(key string) {
		must(t, os.WriteFile(file, []byte("keys: [{name: a, rights: use, key: "+key+"}]"), 0o600))
	}
	write("one")
	t.Setenv("TROUPE_API_KEYS_FILE", file)
	t.Setenv("TROUPE_API_KEY", "set")
	now, err := Load("", nil)
	must(t, err)
	if now.WithKeysNow() != nil {
		t.Error("the same keys are a change")
	}
	write("two")
	t.Setenv("TROUPE_PAGE_SIZE", "nonsense")
	with := now.WithKeysNow()
	if with == nil || with.HTTP.Keys[0].Digest != sha256.Sum256([]byte("two")) || with.PageSize != now.PageSize || now.HTTP.Keys[0].Digest != sha256.Sum256([]byte("one")) {
		t.Errorf("with the keys: %+v", with)
	}
	for _, bad := range []string{"set", "[]"} { // equals api-key; no key
		write(bad)
		if now.WithKeysNow() != nil {
			t.Errorf("%s is taken over", bad)
		}
	}
	must(t, os.Remove(file))
	if now.WithKeysNow() != nil || Default().WithKeysNow() != nil {
		t.Error("without a file the keys change")
	}
}

// A file that a reload names is watched instead of the one before.
func TestTheNewFileOfKeysIsWatched(t *testing.T) {
	dir := t.TempDir()
	load := func(name string) *Config {
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, []byte("keys: [{name: a, rights: use, key: "+name+"}]"), 0o600))
		t.Setenv("TROUPE_API_KEYS_FILE", file)
		c, err := Load("", nil)
		must(t, err)
		return c
	}
	changed := make(chan string, 8)
	watches, err := Default().Watch(func(what string) { changed <- what })
	must(t, err)
	defer watches.Stop()
	for _, name := range []string{"first", "second"} {
		c := load(name)
		must(t, watches.Follow(c), watches.Follow(c))
		load(name + "-other")
		must(t, os.WriteFile(c.KeysFile, []byte("keys: []"), 0o600))
		if what := <-changed; what != "the file of API keys" {
			t.Errorf("%s: %s has changed", name, what)
		}
	}
	must(t, watches.Follow(Default()))
	if watches.keys != nil {
		t.Error("without a file something is watched")
	}
	if err := watches.Follow(&Config{KeysFile: filepath.Join(dir, "none", "keys")}); err == nil {
		t.Error("a missing folder is watched")
	}
}

// A change of either file is noticed.
func TestBothFilesAreWatched(t *testing.T) {
	dir := t.TempDir()
	settings, keys := filepath.Join(dir, "troupe.yaml"), filepath.Join(dir, "keys.yaml")
	must(t, os.WriteFile(settings, []byte("api-keys-file: "+keys+"\n"), 0o600), os.WriteFile(keys, []byte("keys: [{name: a, rights: use, key: one}]"), 0o600))
	c, err := Load(settings, nil)
	must(t, err)
	changed := make(chan struct{}, 8)
	watches, err := c.Watch(func(string) { changed <- struct{}{} })
	must(t, err)
	defer watches.Stop()
	for _, file := range []string{keys, settings} {
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append(text, "# more\n"...), 0o600))
		<-changed
	}
}
