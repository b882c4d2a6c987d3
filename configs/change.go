package configs

import (
	"errors"
	"fmt"
)

// Changes returns the keys of the settings that differ in next. An error names those
// that cannot change while a server runs; then none may be applied.
func (c *Config) Changes(next *Config) (keys []string, err error) {
	var errs []error
	if next.file.empty() && !c.file.empty() { // an editor may have only begun to write it
		errs = append(errs, fmt.Errorf("config file %s is empty now; write its settings again, or restart to run without them", next.file.name))
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
			errs = append(errs, fmt.Errorf("%s (%s) changes from %s to %s, which needs a restart", s.key, next.sources[s.key], shown(before), shown(after)))
		case s.is(secret) && shown(after) == `""`:
			errs = append(errs, fmt.Errorf("%s was removed, which would open the server to more clients and needs a restart", s.key))
		}
	}
	return keys, errors.Join(errs...)
}
