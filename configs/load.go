package configs

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Load reads the settings. file may be empty; flags are those of AddFlags after parsing,
// or nil. The error lists everything that is wrong. With an error, the settings may be
// nil or incomplete.
func Load(file string, flags *pflag.FlagSet) (*Config, error) {
	if flags == nil {
		flags = &pflag.FlagSet{}
	}
	c := Default()
	c.sources = map[string]string{}
	list := c.settings()
	f, err := readFile(file)
	if err != nil {
		return nil, err
	}
	c.file = f
	errs := append(unknownVariables(os.Environ(), list), f.check(list)...)
	v, err := layers(list, f, flags)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		source, conflicts := s.source(f, flags)
		c.sources[s.key] = source
		errs = append(errs, conflicts...)
		value := v.Get(s.key)
		err := s.parse(value)
		if s.is(secret) && source != fromDefault && err == nil {
			err = s.checkKey(value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s (%s) %w", s.key, source, err))
		}
	}
	if err := c.loadKeys(); err != nil {
		errs = append(errs, c.from(err, []string{"api-keys-file"}))
	}
	if len(errs) == 0 {
		for _, err := range c.validate() {
			errs = append(errs, c.from(err, causes(err)))
		}
	}
	return c, errors.Join(errs...)
}

// layers returns a viper with the defaults, the file, the environment and the flags.
func layers(list []setting, f *file, flags *pflag.FlagSet) (*viper.Viper, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00")) // keys are flat
	v.AllowEmptyEnv(true)                                 // an empty variable is an error or an empty list, not nothing
	if f.name != "" {
		v.SetConfigType(f.format)
		if err := v.ReadConfig(bytes.NewReader(f.text)); err != nil {
			return nil, f.unreadable(err)
		}
	}
	for _, s := range list {
		v.SetDefault(s.key, s.value())
		if s.alias != "" && v.InConfig(s.alias) && !v.InConfig(s.key) {
			v.RegisterAlias(s.alias, s.key) // moves the file's value; only after reading it
		}
		variables := []string{s.key}
		for _, name := range s.names() {
			variables = append(variables, envName(name))
		}
		if err := v.BindEnv(variables...); err != nil {
			return nil, err
		}
		if flag := s.changedFlag(flags); flag != nil {
			if err := v.BindPFlag(s.key, flag); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

const fromDefault = "default"

// source returns where viper's value of a setting comes from. It is an error if a
// source has both names of the setting with different values.
func (s *setting) source(f *file, flags *pflag.FlagSet) (source string, errs []error) {
	source = fromDefault
	for _, look := range []func(name string) (value any, place string, ok bool){ // later ones win
		func(name string) (any, string, bool) {
			value, ok := f.keys[name]
			return value, f.place(name), ok
		},
		func(name string) (any, string, bool) {
			value, ok := os.LookupEnv(envName(name))
			return value, "environment " + envName(name), ok
		},
		func(name string) (any, string, bool) {
			if !flags.Changed(name) {
				return nil, "", false
			}
			return flags.Lookup(name).Value, "flag --" + name, true
		},
	} {
		one, place, ok := look(s.key)
		if ok {
			source = place
		}
		if s.alias == "" {
			continue
		}
		switch other, otherPlace, also := look(s.alias); {
		case also && !ok:
			source = otherPlace
		case also && fmt.Sprint(one) != fmt.Sprint(other):
			errs = append(errs, fmt.Errorf("%s is %v (%s) and %s is %v (%s), but they are two names of one setting; give one of them",
				s.key, one, place, s.alias, other, otherPlace))
		}
	}
	return source, errs
}
