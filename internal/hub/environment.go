package hub

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Environment are the settings that Hugging Face's libraries take from variables.
type Environment struct {
	Cache    string   // HF_HUB_CACHE: directory of the cache
	Endpoint *url.URL // HF_ENDPOINT
	Token    string   // HF_TOKEN, or the file HF_TOKEN_PATH; "": none
	Offline  bool     // HF_HUB_OFFLINE: no connection is opened

	HeaderTimeout time.Duration // HF_HUB_ETAG_TIMEOUT: for the beginning of an answer (10 s)
	DataTimeout   time.Duration // HF_HUB_DOWNLOAD_TIMEOUT: for the next bytes of a file (10 s)
}

const defaultTimeout = 10 * time.Second

func (e *Environment) headerTimeout() time.Duration { return cmp.Or(e.HeaderTimeout, defaultTimeout) }
func (e *Environment) dataTimeout() time.Duration   { return cmp.Or(e.DataTimeout, defaultTimeout) }

// FromEnvironment reads the variables. lookup is os.LookupEnv, home the user's directory.
func FromEnvironment(lookup func(string) (string, bool), home string) (Environment, error) {
	get := func(names ...string) (value, name string) {
		for _, name := range names {
			if v, ok := lookup(name); ok && v != "" {
				return v, name
			}
		}
		return "", names[0]
	}
	var e Environment
	root, _ := get("HF_HOME")
	if root == "" {
		base, _ := get("XDG_CACHE_HOME")
		root = filepath.Join(cmp.Or(base, filepath.Join(home, ".cache")), "huggingface")
	}
	cache, _ := get("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
	e.Cache = expand(cmp.Or(cache, filepath.Join(root, "hub")), home)
	endpoint, _ := get("HF_ENDPOINT")
	u, err := url.Parse(strings.TrimRight(cmp.Or(endpoint, "https://huggingface.co"), "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return e, fmt.Errorf("HF_ENDPOINT is %q; it must be the address of a hub, for example https://huggingface.co", endpoint)
	}
	e.Endpoint = u
	if e.Token, _ = get("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"); e.Token == "" {
		path, _ := get("HF_TOKEN_PATH")
		text, err := os.ReadFile(expand(cmp.Or(path, filepath.Join(root, "token")), home))
		if err != nil && !os.IsNotExist(err) {
			return e, fmt.Errorf("cannot read the file with the hub token: %w; fix the file or set HF_TOKEN", err)
		}
		e.Token = string(text)
	}
	e.Token = strings.TrimSpace(e.Token)
	if strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return e, fmt.Errorf("the hub token has spaces or characters that are not printable ASCII; set HF_TOKEN again")
	}
	offline, _ := get("HF_HUB_OFFLINE")
	e.Offline = truthy(offline)
	for _, t := range []struct {
		name string
		to   *time.Duration
	}{{"HF_HUB_ETAG_TIMEOUT", &e.HeaderTimeout}, {"HF_HUB_DOWNLOAD_TIMEOUT", &e.DataTimeout}} {
		text, _ := get(t.name)
		if text == "" {
			*t.to = defaultTimeout
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds <= 86400) {
			return e, fmt.Errorf("%s is %q; it must be a number of seconds above 0 and up to 86400", t.name, text)
		}
		*t.to = time.Duration(seconds * float64(time.Second))
	}
	return e, nil
}

// truthy reads a switch as Hugging Face's libraries do.
func truthy(text string) bool {
	switch strings.ToUpper(text) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// expand replaces ~ at the beginning of a path.
func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
