package configs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
)

// Bounds of a file of API keys.
const (
	maxKeyFile = 4 << 20 // bytes
	maxKeys    = 10_000
)

// KeyName is what the names of API keys match. They are labels of metrics.
var KeyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// reservedName matches the names that keys of the settings have in logs and metrics.
var reservedName = regexp.MustCompile(`^(admin-api-key|api-key-[0-9a-f]{8})$`)

// WithKeys returns the settings with the API keys of the file of next, and of it nothing
// else; nil if next has the same keys or none. Revoked keys must not depend on other settings.
func (c *Config) WithKeys(next *Config) *Config {
	if len(next.HTTP.Keys) == 0 || slices.Equal(c.HTTP.Keys, next.HTTP.Keys) {
		return nil
	}
	with := *c
	with.HTTP.Keys, with.KeysFile, with.keysText = next.HTTP.Keys, next.KeysFile, next.keysText
	return &with
}

// WithKeysNow returns the settings with the API keys that their file has now; nil if they
// are the same, or cannot be used. It serves when the settings as a whole cannot be loaded.
func (c *Config) WithKeysNow() *Config {
	next := *c
	if next.loadKeys() != nil || keyTwice(&next.HTTP) {
		return nil
	}
	return c.WithKeys(&next)
}

// loadKeys reads the file of API keys.
func (c *Config) loadKeys() error {
	if c.KeysFile == "" {
		return nil
	}
	f, err := os.Open(c.KeysFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("api-keys-file: %w; make it with troupe keys new, or unset api-keys-file", err)
	}
	if err != nil {
		return fmt.Errorf("api-keys-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("api-keys-file: %w", err)
	case len(text) > maxKeyFile:
		return fmt.Errorf("api-keys-file %s has more than %d bytes; use fewer keys", c.KeysFile, maxKeyFile)
	}
	c.keysText = text
	if c.HTTP.Keys, err = ParseKeys(text); err != nil {
		return fmt.Errorf("api-keys-file %s: %w", c.KeysFile, err)
	}
	return nil
}

// keysForm shows how the file is written.
const keysForm = "write YAML like\nkeys:\n  - name: alice\n    rights: use\n    sha256: 9f86d0…"

// ParseKeys reads a file of API keys. Its errors never quote a key.
func ParseKeys(text []byte) ([]httpapi.Key, error) {
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the file is empty, which would open the server to everyone; add a key, or unset api-keys-file")
	case err != nil && strings.Contains(err.Error(), "anchor"): // it quotes the text
		return nil, fmt.Errorf("a value that begins with * or & must be in quotes")
	case err != nil:
		return nil, fmt.Errorf("%w; %s", err, keysForm)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has text after the first YAML document (after a line of --- or ...); keep one document")
	}
	list := root.Content[0]
	if list.Kind != yaml.MappingNode || len(list.Content) != 2 || list.Content[0].Value != "keys" || list.Content[1].Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("the file must have only the entry keys, with a list; %s", keysForm)
	}
	entries := list.Content[1].Content
	switch {
	case len(entries) == 0:
		return nil, errors.New("the list of keys is empty, which would open the server to everyone; add a key, or unset api-keys-file")
	case len(entries) > maxKeys:
		return nil, fmt.Errorf("the file has %d keys; at most %d are allowed", len(entries), maxKeys)
	}
	keys := make([]httpapi.Key, 0, len(entries))
	names, digests := map[string]int{}, map[[sha256.Size]byte]int{}
	for _, entry := range entries {
		key, err := parseKey(entry)
		if err != nil {
			return nil, err
		}
		if line, twice := names[key.Name]; twice {
			return nil, fmt.Errorf("line %d: the name %s is already used in line %d; names must differ", entry.Line, key.Name, line)
		}
		if line, twice := digests[key.Digest]; twice {
			return nil, fmt.Errorf("line %d: the key of %s is the same as the one in line %d; keys must differ", entry.Line, key.Name, line)
		}
		names[key.Name], digests[key.Digest] = entry.Line, entry.Line
		keys = append(keys, key)
	}
	return keys, nil
}

// parseKey reads one entry.
func parseKey(entry *yaml.Node) (key httpapi.Key, err error) {
	if entry.Kind != yaml.MappingNode {
		return key, fmt.Errorf("line %d: an entry must have name, rights, and key or sha256; %s", entry.Line, keysForm)
	}
	values := map[string]string{}
	for i := 0; i+1 < len(entry.Content); i += 2 {
		field, value := entry.Content[i], entry.Content[i+1]
		_, twice := values[field.Value]
		switch {
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			return key, fmt.Errorf("line %d: the value of every field must be text", value.Line)
		case twice:
			return key, fmt.Errorf("line %d: a field appears twice in one entry; remove one", field.Line)
		}
		switch field.Value {
		case "name", "rights", "key", "sha256":
			values[field.Value] = value.Value
		default:
			return key, fmt.Errorf("line %d: unknown field; the fields are name, rights, key and sha256", field.Line)
		}
	}
	key.Name = values["name"]
	secret, plain := values["key"]
	digest, hashed := values["sha256"]
	switch rights := values["rights"]; {
	case !KeyName.MatchString(key.Name):
		return key, fmt.Errorf("line %d: name must have 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit", entry.Line)
	case reservedName.MatchString(key.Name):
		return key, fmt.Errorf("line %d: the name %s is that of a key of the settings; choose another one", entry.Line, key.Name)
	case rights != "use" && rights != "admin":
		return key, fmt.Errorf("line %d: the rights of %s must be use or admin", entry.Line, key.Name)
	case plain == hashed:
		return key, fmt.Errorf("line %d: %s must have either key or sha256, and not both", entry.Line, key.Name)
	case plain && (blank(secret) || len(headerValue(secret)) > 0):
		return key, fmt.Errorf("line %d: the key of %s must be printable ASCII text without spaces around it", entry.Line, key.Name)
	default:
		key.Admin = rights == "admin"
	}
	if plain {
		key.Digest = sha256.Sum256([]byte(secret))
		return key, nil
	}
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size {
		return key, fmt.Errorf("line %d: sha256 of %s must be 64 hexadecimal digits; printf %%s KEY | sha256sum prints them", entry.Line, key.Name)
	}
	key.Digest = [sha256.Size]byte(sum)
	return key, nil
}
