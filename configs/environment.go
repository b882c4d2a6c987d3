package configs

import (
	"fmt"
	"slices"
	"strings"
)

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

const envPrefix = "TROUPE_"

// unknownVariables reports variables with the prefix of settings that are not settings.
func unknownVariables(env []string, list []setting) (errs []error) {
	names := known(list, envName)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, envPrefix) && !notSettings[name] && !slices.Contains(names, name) {
			near := nearest(strings.ToUpper(name), names, (len(name)-len(envPrefix))/2)
			errs = append(errs, fmt.Errorf("unknown setting %s in the environment%s", name, near))
		}
	}
	return errs
}

// notSettings are other variables with the prefix, of commands and of tests.
var notSettings = map[string]bool{"TROUPE_CONFIG": true, "TROUPE_URL": true,
	"TROUPE_ALONE": true, "TROUPE_BINARY": true, "TROUPE_CHAOS": true, "TROUPE_CLUSTER_LOGS": true, "TROUPE_CONFORMANCE": true, "TROUPE_ETCD": true,
	"TROUPE_SEED": true, "TROUPE_SOAK": true, "TROUPE_SOAK_TIME": true}
