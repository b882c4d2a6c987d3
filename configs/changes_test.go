package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// another returns a different valid value of a setting; secrets are not removed.
func another(t *testing.T, key string, v any) any {
	t.Helper()
	switch x := v.(type) {
	case bool:
		return !x
	case int:
		return x + 1
	case int64:
		return x + 1
	case float64:
		return x + 0.5
	case time.Duration:
		return x + time.Second
	case string:
		return x + "x"
	case []string:
		return append(slices.Clone(x), "x")
	}
	t.Fatalf("%s is a %T", key, v)
	return nil
}

// Every setting is either live, or its change is refused by name.
func TestEverySettingIsLiveOrRefusedByName(t *testing.T) {
	wantLive := strings.Fields(`api-key admin-api-key allowed-hosts cors-origins max-body-bytes write-stall-timeout health-timeout drain-timeout
		max-open-requests max-queued-tokens max-queued-requests queue-timeout request-timeout log-level unknown-fields api-keys-file`)
	for i, s := range Default().settings() {
		c, next := Default(), Default()
		next.sources = map[string]string{s.key: "flag --" + s.key}
		to := next.settings()[i]
		must(t, to.parse(plain(another(t, s.key, s.value()))))
		keys, err := c.Changes(next)
		if !slices.Equal(keys, []string{s.key}) {
			t.Errorf("%s: the changes are %q", s.key, keys)
		}
		switch isLive := slices.Contains(wantLive, s.key); {
		case isLive != s.is(live):
			t.Errorf("%s is live: %v, want %v", s.key, s.is(live), isLive)
		case isLive && err != nil:
			t.Errorf("%s: %v", s.key, err)
		case !isLive && (err == nil || !strings.Contains(err.Error(), s.key+" (flag --"+s.key+") changes from ") || !strings.Contains(err.Error(), "restart")):
			t.Errorf("%s: %v", s.key, err)
		}
	}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	load := func(text string) *Config {
		file := filepath.Join(dir, "troupe.yaml")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		c, err := Load(file, nil)
		must(t, err)
		return c
	}
	for name, c := range map[string]struct {
		before, after string
		keys          string
		errors        []string
	}{
		"nothing":             {"port: 1", "# a comment\nport: 1", "", nil},
		"an empty list":       {"cors-origins: []", "port: 30000", "", nil},
		"two live ones":       {"port: 1", "port: 1\nlog-level: debug\nqueue-timeout: 5s", "queue-timeout log-level", nil},
		"one needs a restart": {"port: 1", "port: 2\nlog-level: debug", "port log-level", []string{"port (file ", "line 1) changes from 1 to 2", "restart"}},
		"two need it":         {"", "port: 2\nmodel: x", "model port", []string{`model (file `, `changes from "" to x`, "port (file "}},
		"a key more":          {"api-key: a", "api-key: [a, b]", "api-key", nil},
		"another key":         {"api-key: a", "api-key: b", "api-key", nil},
		"no key any more":     {"api-key: hidden", "port: 30000", "api-key", []string{"api-key was removed", "restart"}},
		"no admin key":        {"admin-api-key: hidden", "port: 30000", "admin-api-key", []string{"admin-api-key was removed", "restart"}},
		"a first key":         {"port: 30000", "api-key: hidden", "api-key", nil},
		"an empty file":       {"port: 30000", "", "", []string{"troupe.yaml is now empty"}},
		"a file of spaces":    {"log-level: debug", " \n", "log-level", []string{"troupe.yaml is now empty"}},
		"still an empty file": {"", "\n", "", nil},
	} {
		keys, err := load(c.before).Changes(load(c.after))
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("%s: the changes are %q, want %q", name, got, c.keys)
		}
		if (err == nil) != (c.errors == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.errors {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}
