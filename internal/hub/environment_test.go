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
		"not offline":    {map[string]string{"HF_HUB_OFFLINE": "0"}, home + "/.cache/huggingface/hub", "https://huggingface.co", "hf_home", false},
	} {
		e, err := FromEnvironment(func(key string) (string, bool) { v, ok := c.vars[key]; return v, ok }, home)
		if err != nil || e.Cache != c.cache || e.Endpoint.String() != c.endpoint || e.Token != c.token || e.Offline != c.offline || e.HeaderTimeout != 10*time.Second {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	for vars, want := range map[[2]string]string{
		{"HF_ENDPOINT", "ftp://x"}:             "HF_ENDPOINT is",
		{"HF_ENDPOINT", "https://user:pass@x"}: "HF_ENDPOINT is",
		{"HF_ENDPOINT", "huggingface.co"}:      "HF_ENDPOINT is",
		{"HF_HUB_ETAG_TIMEOUT", "soon"}:        "HF_HUB_ETAG_TIMEOUT is",
		{"HF_HUB_DOWNLOAD_TIMEOUT", "0"}:       "above 0",
		{"HF_HUB_DOWNLOAD_TIMEOUT", "NaN"}:     "above 0",
		{"HF_TOKEN", "hf_a\nb"}:                "set HF_TOKEN again",
		{"HF_TOKEN_PATH", home}:                "cannot read the file with the hub token",
	} {
		_, err := FromEnvironment(func(key string) (string, bool) { return vars[1], key == vars[0] }, home)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hf_a") {
			t.Errorf("%q: %v, want %q", vars, err, want)
		}
	}
}
