package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFromEnvironment(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".cache/huggingface/token", " hf_home \n")
	other := write("token2", "hf_path")
	for name, c := range map[string]struct {
		vars                   map[string]string
		cache, endpoint, token string
		offline                bool
	}{
		"nothing":        {nil, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_home", false},
		"HF_HOME":        {map[string]string{"HF_HOME": "/h"}, "/h/hub", "https://huggingface.co", "", false},
		"XDG":            {map[string]string{"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub", "https://huggingface.co", "", false},
		"HF_HUB_CACHE":   {map[string]string{"HF_HUB_CACHE": "~/c", "HF_HOME": "/h"}, home + "/c", "https://huggingface.co", "", false},
		"the token":      {map[string]string{"HF_TOKEN": "hf_x"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_x", false},
		"its path":       {map[string]string{"HF_TOKEN_PATH": other}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_path", false},
		"an older token": {map[string]string{"HUGGING_FACE_HUB_TOKEN": "hf_o"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_o", false},
		"a mirror":       {map[string]string{"HF_ENDPOINT": "http://mirror:8080/hf/", "HF_HUB_OFFLINE": "yes"}, home + "/.cache/huggingface/hub", "http://mirror:8080/hf", "hf_home", true},
		"offline":        {map[string]string{"TRANSFORMERS_OFFLINE": "1"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_home", true},
		"its own switch": {map[string]string{"TRANSFORMERS_OFFLINE": "1", "HF_HUB_OFFLINE": "0"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_home", false},
		"variables":      {map[string]string{"HF_HUB_CACHE": "~/$USER/${DISK}/$none/${none}", "USER": "u", "DISK": "d"}, home + "/u/d/$none/${none}", "https://huggingface.co", "hf_home", false},
		"in HF_HOME":     {map[string]string{"HF_HOME": "$DISK/hf", "DISK": "/d"}, "/d/hf/hub", "https://huggingface.co", "", false},
		"in XDG":         {map[string]string{"XDG_CACHE_HOME": "$DISK", "DISK": "/d"}, "/d/huggingface/hub", "https://huggingface.co", "", false},
		"only home":      {map[string]string{"HF_HUB_CACHE": "~", "HF_TOKEN": "hf_x"}, home, "https://huggingface.co", "hf_x", false},
		"another's home": {map[string]string{"HF_HUB_CACHE": "./~other"}, "./~other", "https://huggingface.co", "hf_home", false},
		"an @ in a path": {map[string]string{"HF_ENDPOINT": "https://mirror/@hf"}, home + "/.cache/huggingface/hub", "https://mirror/@hf", "hf_home", false},
		"not offline":    {map[string]string{"HF_HUB_OFFLINE": "0"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_home", false},
	} {
		e, err := FromEnvironment(func(key string) (string, bool) { v, ok := c.vars[key]; return v, ok }, home)
		if err != nil || e.Cache != c.cache || e.Endpoint.String() != c.endpoint || e.Token != c.token || e.Offline != c.offline || e.HeaderTimeout != 10*time.Second {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	for vars, want := range map[[2]string]string{
		{"HF_ENDPOINT", "ftp://x"}:              "HF_ENDPOINT is",
		{"HF_ENDPOINT", "https://user:hf_a@x"}:  "HF_ENDPOINT has a user or a password",
		{"HF_ENDPOINT", "https://user:hf_a%@x"}: "HF_ENDPOINT has a user or a password",
		{"HF_ENDPOINT", "https://hf_a@x"}:       "HF_ENDPOINT has a user or a password",
		{"HF_ENDPOINT", "huggingface.co"}:       "HF_ENDPOINT is",
		{"HF_HUB_ETAG_TIMEOUT", "soon"}:         "HF_HUB_ETAG_TIMEOUT is",
		{"HF_HUB_DOWNLOAD_TIMEOUT", "0"}:        "above 0",
		{"HF_HUB_DOWNLOAD_TIMEOUT", "NaN"}:      "above 0",
		{"HF_TOKEN", "hf_a\nb"}:                 "set HF_TOKEN again",
		{"HF_TOKEN_PATH", home}:                 "cannot read the file with the hub token",
		{"HF_HUB_CACHE", "~other/models"}:       "write the whole path",
	} {
		_, err := FromEnvironment(func(key string) (string, bool) { return vars[1], key == vars[0] }, home)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hf_a") {
			t.Errorf("%q: %v, want %q", vars, err, want)
		}
	}
}

// Without a home directory the cache must be named.
func TestWithoutAHome(t *testing.T) {
	for vars, want := range map[[2]string]string{
		{"HF_HOME", "/h"}:        "/h/hub",
		{"HF_HUB_CACHE", "/c"}:   "/c",
		{"XDG_CACHE_HOME", "/x"}: "/x/huggingface/hub",
		{"HF_HOME", "~/h"}:       "error: write the whole path",
		{"HF_TOKEN", "hf_x"}:     "error: there is no home directory to keep models in; set HF_HOME",
	} {
		e, err := FromEnvironment(func(key string) (string, bool) { return vars[1], key == vars[0] }, "")
		if want, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", vars, err, want)
			}
		} else if err != nil || e.Cache != want || e.Token != "" {
			t.Errorf("%q: %+v, %v", vars, e, err)
		}
	}
}
