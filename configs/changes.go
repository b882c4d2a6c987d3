package configs

import (
	"errors"
	"fmt"
	"slices"
)

// Changes returns the keys of the settings that differ in next. An error names those
// that cannot change while a server runs; then none may be applied.
func (c *Config) Changes(next *Config) (keys []string, err error) {
	var errs []error
	if next.file.empty() && !c.file.empty() { // an editor may have only begun to write it
		errs = append(errs, fmt.Errorf("config file %s is now empty; write the settings again, or restart the server to run without them", next.file.name))
	}
	now, then := c.settings(), next.settings()
	for i, s := range then {
		before, after := now[i].value(), s.value()
		if equal(before, after) {
			continue
		}
		keys = append(keys, s.key)
		switch {
		case !s.is(live):
			errs = append(errs, fmt.Errorf("%s (%s) changes from %s to %s, which requires a restart", s.key, next.sources[s.key], shown(before), shown(after)))
		case s.is(secret) && shown(after) == `""`:
			errs = append(errs, fmt.Errorf("%s was removed; without it more clients would have access, so removing it requires a restart", s.key))
		}
	}
	if !slices.Equal(c.HTTP.Keys, next.HTTP.Keys) && !slices.Contains(keys, "api-keys-file") {
		keys = append(keys, "api-keys-file")
	}
	if len(c.HTTP.Keys) > 0 && len(next.HTTP.Keys) == 0 {
		errs = append(errs, errors.New("api-keys-file was removed; without it more clients would have access, so removing it requires a restart"))
	}
	return keys, errors.Join(errs...)
}

// equal compares two values of a setting; a nil list equals an empty one.
func equal(a, b any) bool {
	if list, ok := a.([]string); ok {
		return slices.Equal(list, b.([]string))
	}
	return a == b
}
