package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// file is a config file, for checks that viper does not make: it ignores unknown keys
// and keys without a value, and if keys differ only in case it uses any of them.
type file struct {
	name   string // "": no file
	format string // yaml, toml or json
	text   []byte
	keys   map[string]any // by name in lower case
	twice  []string       // names that differ only in case, ascending
}

func (f *file) empty() bool { return f != nil && f.name != "" && len(bytes.TrimSpace(f.text)) == 0 }

// readFile reads a file, none if the name is empty.
func readFile(name string) (*file, error) {
	f := &file{name: name, format: strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")}
	if name == "" {
		return f, nil
	}
	if _, ok := formats[f.format]; !ok {
		f.format = "yaml"
	}
	var err error
	if f.text, err = os.ReadFile(name); err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	if once := map[string]func([]byte) error{"json": jsonOnce, "yaml": yamlOnce}[f.format]; once != nil {
		if err := once(f.text); err != nil {
			return nil, f.unreadable(err)
		}
	}
	decoder, err := viper.NewCodecRegistry().Decoder(f.format)
	if err != nil {
		return nil, err
	}
	pairs := map[string]any{}
	if err := decoder.Decode(f.text, pairs); err != nil {
		return nil, f.unreadable(err)
	}
	f.keys = make(map[string]any, len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		name := strings.ToLower(key)
		if _, ok := f.keys[name]; ok {
			f.twice = append(f.twice, name)
		}
		f.keys[name] = pairs[key]
	}
	return f, nil
}

var errNoKeys = errors.New("the file does not consist of keys and values")

// jsonOnce checks that a text is one JSON object without duplicate keys, which viper's
// decoder accepts.
func jsonOnce(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case value.Kind() != '{':
		return errNoKeys
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end of the JSON object")
	}
	return nil
}

// yamlOnce checks that a text is at most one YAML mapping: viper's decoder ignores further
// documents, and its error for a list or a text is in Go's terms and quotes the file.
func yamlOnce(text []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF): // only comments
		return nil
	case err != nil:
		return err
	case first.Content[0].Kind != yaml.MappingNode && first.Content[0].Tag != "!!null":
		return errNoKeys
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("line %d: a second YAML document begins; put all settings into one", second.Line)
}

// formats has for each format of config files how to write it.
var formats = map[string]string{
	"yaml": "write YAML with one key per line, for example `port: 30000`",
	"toml": "write TOML with one key per line, for example `port = 30000`",
	"json": "write one JSON object, for example `{\"port\": 30000}`",
}

// tomlError is implemented by go-toml's DecodeError.
type tomlError interface {
	error
	Position() (line, column int)
}

// unreadable adds to an error how to write the file, and the line if the parser knows it.
// YAML's errors have it in their texts.
func (f *file) unreadable(err error) error {
	line := 0
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		line = 1 + bytes.Count(f.text[:at.ByteOffset], []byte("\n"))
	} else if at, ok := errors.AsType[tomlError](err); ok {
		line, _ = at.Position()
	}
	switch text := err.Error(); { // these quote the value, which may be an API key
	case strings.Contains(text, "value out of range"), strings.Contains(text, "cannot unmarshal number"):
		err = errors.New("a number is too large; if it is meant as text, put it in quotes")
	case strings.Contains(text, "unknown anchor"):
		err = errors.New("a value that begins with * must be in quotes")
	}
	if line > 0 {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return fmt.Errorf("config file %s: %w; %s", f.name, err, formats[f.format])
}

// check reports unknown keys, keys without a value and duplicate keys.
func (f *file) check(list []setting) (errs []error) {
	names := known(list, func(name string) string { return name })
	unknown := func(key, top string) {
		errs = append(errs, fmt.Errorf("unknown setting %s in config %s%s", key, f.place(top), nearest(key, names, len(key)/2)))
	}
	for _, key := range slices.Sorted(maps.Keys(f.keys)) {
		value := f.keys[key]
		group, isGroup := value.(map[string]any)
		switch {
		case isGroup && len(group) > 0:
			unknown(key+"."+slices.Sorted(maps.Keys(group))[0], key)
		case !slices.Contains(names, key):
			unknown(key, key)
		case value == nil:
			errs = append(errs, fmt.Errorf("config file %s has %s without a value; remove the line, or give a value", f.name, key))
		}
	}
	for _, key := range f.twice {
		errs = append(errs, fmt.Errorf("%[2]s appears twice in config file %[1]s, with different capitalisation; remove one of them", f.name, key))
	}
	return errs
}

// known returns all names of the settings, converted by written.
func known(list []setting, written func(name string) string) (names []string) {
	for _, s := range list {
		for _, name := range s.names() {
			names = append(names, written(name))
		}
	}
	return names
}

// place returns the file and the line of a key, for errors.
func (f *file) place(key string) string { return "file " + f.name + line(f.text, key) }

// line returns ", line N" for the line on which a key begins, or "" if it is not found:
// in YAML a key need not be at the start of a line.
func line(text []byte, key string) string {
	n := 0
	for l := range bytes.Lines(text) {
		n++
		l = bytes.TrimLeft(l, " \t")
		end := bytes.IndexAny(l, ":=")
		if end >= 0 && strings.EqualFold(strings.Trim(strings.TrimRight(string(l[:end]), " \t"), `"'`), key) {
			return fmt.Sprintf(", line %d", n)
		}
	}
	return ""
}
