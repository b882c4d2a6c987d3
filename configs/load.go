package configs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const envPrefix = "TROUPE_"

// setting is one field of Config with its tags.
type setting struct {
	key, fallback, usage string
	alias                string // a second name; "" for none
	field                int
	serve                bool // only a server has a use for it
	secret               bool // a key: given and empty is a mistake
	kind                 reflect.Type
}

// settings lists the fields of Config in their order.
func settings() []setting {
	t := reflect.TypeFor[Config]()
	var list []setting
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		list = append(list, setting{f.Tag.Get("key"), f.Tag.Get("default"), f.Tag.Get("usage"), f.Tag.Get("alias"), i, f.Tag.Get("for") == "serve", f.Tag.Get("secret") == "yes", f.Type})
	}
	return list
}

// names are the key and its second name.
func (s *setting) names() []string {
	if s.alias == "" {
		return []string{s.key}
	}
	return []string{s.key, s.alias}
}

// AddFlags declares a flag for every setting.
func AddFlags(flags *pflag.FlagSet) { addFlags(flags, settings()) }

// AddEngineFlags declares a flag for every setting that has an effect without
// a server.
func AddEngineFlags(flags *pflag.FlagSet) {
	addFlags(flags, slices.DeleteFunc(settings(), func(s setting) bool { return s.serve }))
}

func addFlags(flags *pflag.FlagSet, list []setting) {
	for _, s := range list {
		v := reflect.New(s.kind).Elem()
		if err := parseInto(v, s.fallback); err != nil {
			panic(fmt.Sprintf("default of %s: %v", s.key, err)) // a test loads every default
		}
		addFlag(flags, s.key, s.usage, v)
		if s.alias != "" {
			addFlag(flags, s.alias, "another name of "+s.key, v)
		}
	}
}

func addFlag(flags *pflag.FlagSet, name, usage string, fallback reflect.Value) {
	switch x := fallback.Interface().(type) {
	case string:
		flags.String(name, x, usage)
	case int:
		flags.Int(name, x, usage)
	case int64:
		flags.Int64(name, x, usage)
	case float64:
		flags.Float64(name, x, usage)
	case bool:
		flags.Bool(name, x, usage)
	case time.Duration:
		flags.Duration(name, x, usage)
	case []string:
		flags.Var(&listFlag{items: x}, name, usage)
	}
}

// Value is a setting as it stands, for `troupe inspect config`.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"` // default, file …, line …, environment …, flag …
}

// Load reads the settings. file may be empty; flags are those of AddFlags,
// parsed, or nil; env is what os.Environ gives. The error lists everything that
// is wrong at once.
func Load(file string, env []string, flags *pflag.FlagSet) (*Config, []Value, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00")) // keys are flat
	var written []byte
	if file != "" {
		v.SetConfigType("yaml")
		var err error
		if written, err = os.ReadFile(file); err != nil {
			return nil, nil, fmt.Errorf("config file: %w", err)
		}
		if err := v.ReadConfig(bytes.NewReader(written)); err != nil {
			return nil, nil, fmt.Errorf("config file %s: %w; write YAML with one key a line, for example `port: 30000`", file, err)
		}
	}
	environment, errs := environ(env)
	errs = append(errs, unknownKeys(v, file)...)
	errs = append(errs, emptyKeys(file, written)...)
	config, values := &Config{sources: map[string]string{}}, []Value(nil)
	target := reflect.ValueOf(config).Elem()
	for _, s := range settings() {
		field, source, text := target.Field(s.field), "default", any(s.fallback)
		// A later source overrides an earlier one, under either name; one
		// source must not say two things.
		for _, from := range []func(name string) (value any, source string){
			func(name string) (any, string) {
				if !v.InConfig(name) {
					return nil, ""
				}
				return v.Get(name), "file " + file + line(written, name)
			},
			func(name string) (any, string) {
				if e, ok := environment[name]; ok {
					return e, "environment " + envName(name)
				}
				return nil, ""
			},
			func(name string) (any, string) { return flagValue(flags, name) },
		} {
			given := ""
			for _, name := range s.names() {
				value, where := from(name)
				if where == "" {
					continue
				}
				if given != "" && fmt.Sprint(value) != fmt.Sprint(text) {
					errs = append(errs, fmt.Errorf("%s is %v (%s) and %s is %v (%s); they are two names of one setting, give one of them", given, text, source, name, value, where))
				}
				given, text, source = name, value, where
			}
		}
		if s.secret && source != "default" {
			if err := emptyKey(s.kind, text); err != nil {
				errs = append(errs, fmt.Errorf("%s (%s): %w", s.key, source, err))
			}
		}
		if list, ok := text.([]string); ok {
			text = withoutBlank(list)
		}
		if err := parseInto(field, text); err != nil {
			errs = append(errs, fmt.Errorf("%s (%s): %w", s.key, source, err))
		}
		values = append(values, Value{s.key, field.Interface(), source})
		config.sources[s.key] = source
	}
	if len(errs) == 0 {
		for _, err := range append(config.validate(), config.contradictions(values)...) {
			errs = append(errs, config.from(err, causes(err)))
		}
	}
	return config, values, errors.Join(errs...)
}

// flagValue is what a flag was set to, if it was.
func flagValue(flags *pflag.FlagSet, name string) (value any, source string) {
	if flags == nil || !flags.Changed(name) {
		return nil, ""
	}
	f := flags.Lookup(name)
	if slice, ok := f.Value.(pflag.SliceValue); ok {
		return slice.GetSlice(), "flag --" + name
	}
	return f.Value.String(), "flag --" + name
}

// envName is the variable of a key.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// notSettings are variables of ours that are no settings: tests read them.
var notSettings = map[string]bool{"TROUPE_CONFIG": true, "TROUPE_CONFORMANCE": true, "TROUPE_SOAK": true, "TROUPE_SEED": true, "TROUPE_URL": true}

// environ picks our variables, by key, and complains of unknown ones.
func environ(env []string) (map[string]string, []error) {
	known, names := map[string]string{}, []string(nil)
	for _, s := range settings() {
		for _, name := range s.names() {
			known[envName(name)] = name
			names = append(names, envName(name))
		}
	}
	found, errs := map[string]string{}, []error(nil)
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		key, ok := known[name]
		switch {
		case ok:
			found[key] = value
		case strings.HasPrefix(name, envPrefix) && !notSettings[name]:
			errs = append(errs, fmt.Errorf("the environment has %s, which is no setting%s", name, nearest(name, names)))
		}
	}
	return found, errs
}

func unknownKeys(v *viper.Viper, file string) []error {
	var names []string
	known := map[string]bool{}
	for _, s := range settings() {
		for _, name := range s.names() {
			names, known[name] = append(names, name), true
		}
	}
	keys := v.AllKeys()
	sort.Strings(keys)
	var errs []error
	for _, key := range keys {
		key = strings.ReplaceAll(key, "\x00", ".")
		if !known[key] {
			errs = append(errs, fmt.Errorf("config file %s has %s, which is no setting%s", file, key, nearest(key, names)))
		}
	}
	return errs
}

// emptyKeys complains of keys of the file without a value, which viper passes
// over: `api-key:` would open the server.
func emptyKeys(file string, data []byte) []error {
	if file == "" {
		return nil
	}
	yaml, err := viper.NewCodecRegistry().Decoder("yaml")
	if err != nil {
		return []error{err}
	}
	pairs := map[string]any{}
	if err := yaml.Decode(data, pairs); err != nil {
		return []error{fmt.Errorf("config file %s: %w", file, err)}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if pairs[key] == nil {
			errs = append(errs, fmt.Errorf("config file %s has %s without a value; take the line out, or give a value", file, key))
		}
	}
	return errs
}

// DefaultFile is the file named by TROUPE_CONFIG, if any.
func DefaultFile() string { return os.Getenv("TROUPE_CONFIG") }
