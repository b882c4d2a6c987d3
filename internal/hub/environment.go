package hub

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Environment are the settings that Hugging Face's libraries take from variables.
type Environment struct {
	Cache    string   // HF_HUB_CACHE: directory of the cache
	Endpoint *url.URL // HF_ENDPOINT
	Token    string   // HF_TOKEN, or the file HF_TOKEN_PATH; "": none
	Offline  bool     // HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE: no connection is opened

	HeaderTimeout time.Duration // HF_HUB_ETAG_TIMEOUT: for the beginning of an answer (10 s)
	DataTimeout   time.Duration // HF_HUB_DOWNLOAD_TIMEOUT: for the next bytes of a file (10 s)
}

const defaultTimeout = 10 * time.Second

func (e *Environment) headerTimeout() time.Duration { return cmp.Or(e.HeaderTimeout, defaultTimeout) }
func (e *Environment) dataTimeout() time.Duration   { return cmp.Or(e.DataTimeout, defaultTimeout) }

// variables reads variables.
type variables struct {
	lookup func(string) (string, bool)
	home   string // the user's directory; "": there is none
}

// FromEnvironment reads the variables. lookup is os.LookupEnv, home the user's directory,
// "" if there is none.
func FromEnvironment(lookup func(string) (string, bool), home string) (e Environment, err error) {
	v := variables{lookup, home}
	e.Offline = truthy(v.first("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
	root := v.root()
	if e.Cache, err = v.cache(root); err != nil {
		return e, err
	}
	if e.Endpoint, err = v.endpoint(); err != nil {
		return e, err
	}
	if e.Token, err = v.token(root); err != nil {
		return e, err
	}
	if e.HeaderTimeout, err = v.seconds("HF_HUB_ETAG_TIMEOUT"); err != nil {
		return e, err
	}
	e.DataTimeout, err = v.seconds("HF_HUB_DOWNLOAD_TIMEOUT")
	return e, err
}

// first is the value of the first variable that has one.
func (v variables) first(names ...string) string {
	for _, name := range names {
		if value, ok := v.lookup(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// root is the directory of Hugging Face's libraries; "": there is none.
func (v variables) root() string {
	if root := v.first("HF_HOME"); root != "" {
		return v.expand(root)
	}
	if base := v.first("XDG_CACHE_HOME"); base != "" {
		return v.expand(filepath.Join(base, "huggingface"))
	}
	if v.home == "" {
		return ""
	}
	return filepath.Join(v.home, ".cache", "huggingface")
}

func (v variables) cache(root string) (string, error) {
	cache := v.expand(v.first("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"))
	switch {
	case cache == "" && root == "":
		return "", errors.New("there is no home directory to keep models in; set HF_HOME to a directory")
	case cache == "":
		cache = filepath.Join(root, "hub")
	}
	if strings.HasPrefix(cache, "~") {
		return "", fmt.Errorf("the directory of the cache is %q, but the home directory is not known; write the whole path in HF_HOME or HF_HUB_CACHE", cache)
	}
	return cache, nil
}

func (v variables) endpoint() (*url.URL, error) {
	text := cmp.Or(v.first("HF_ENDPOINT"), "https://huggingface.co")
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil && strings.Contains(text, "@"), err == nil && u.User != nil: // the text may have a password, so it is not printed
		return nil, errors.New("HF_ENDPOINT has a user or a password in front of an @, which is not supported; write the address without them, for example https://huggingface.co")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return nil, fmt.Errorf("HF_ENDPOINT is %q; it must be the address of a hub, for example https://huggingface.co", text)
	}
	return u, nil
}

func (v variables) token(root string) (string, error) {
	token := v.first("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
	path := v.expand(v.first("HF_TOKEN_PATH"))
	if path == "" && root != "" {
		path = filepath.Join(root, "token")
	}
	if token == "" && path != "" {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return "", fmt.Errorf("cannot read the file with the hub token: %w; fix the file or set HF_TOKEN", err)
		}
		token = string(text)
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the hub token has spaces or characters that are not printable ASCII; set HF_TOKEN again")
	}
	return token, nil
}

func (v variables) seconds(name string) (time.Duration, error) {
	text := v.first(name)
	if text == "" {
		return defaultTimeout, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds <= 86400) {
		return 0, fmt.Errorf("%s is %q; it must be a number of seconds above 0 and up to 86400", name, text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// truthy reads a switch as Hugging Face's libraries do.
func truthy(text string) bool {
	switch strings.ToUpper(text) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

var variable = regexp.MustCompile(`\$(\w+|\{[^}]*\})`)

// expand replaces ~ at the beginning of a path, and $NAME and ${NAME} anywhere. As in
// Python, a variable that is not set stays as it is.
func (v variables) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && v.home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		path = v.home + rest
	}
	return variable.ReplaceAllStringFunc(path, func(found string) string {
		if value, ok := v.lookup(strings.Trim(found, "${}")); ok {
			return value
		}
		return found
	})
}
