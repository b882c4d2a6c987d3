package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

type about struct {
	error
	keys []string
}

func (a *about) Unwrap() error { return a.error }

// About adds to an error which settings caused it, for Explain. nil stays nil.
func About(err error, keys ...string) error {
	if err == nil {
		return nil
	}
	return &about{err, keys}
}

// explained is an error with the sources of its settings.
type explained struct{ error }

func (e *explained) Unwrap() error { return e.error }

// Explain adds to an error the sources of its settings: those that About added, and those
// named in its text. One-word names, like port, are ordinary words too and count only
// from About. Without settings or sources the error is unchanged.
func (c *Config) Explain(err error) error {
	if err == nil || errors.As(err, new(*explained)) {
		return err
	}
	keys := causes(err)
	words := strings.FieldsFunc(err.Error(), func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })
	for _, word := range words {
		word = strings.TrimLeft(word, "-") // of a flag
		if strings.Contains(word, "-") && !slices.Contains(keys, word) {
			keys = append(keys, word)
		}
	}
	return c.from(err, keys)
}

// causes returns the settings that About added to an error.
func causes(err error) []string {
	if a, ok := errors.AsType[*about](err); ok {
		return slices.Clone(a.keys)
	}
	return nil
}

// from adds the sources of settings to an error.
func (c *Config) from(err error, keys []string) error {
	var parts []string
	source := ""
	for _, key := range keys {
		if from, ok := c.sources[key]; ok {
			source = from
			parts = append(parts, key+": "+from)
		}
	}
	switch {
	case len(parts) == 0:
		return err
	case len(keys) == 1 && strings.HasPrefix(err.Error(), keys[0]): // the error begins with the key
		return &explained{fmt.Errorf("%w (%s)", err, source)}
	}
	return &explained{fmt.Errorf("%w (%s)", err, strings.Join(parts, ", "))}
}
