package configs

import (
	"fmt"
	"regexp"
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
			if serviceLink.MatchString(name) {
				errs = append(errs, fmt.Errorf("unknown setting %s in the environment; Kubernetes sets it for a Service. Set enableServiceLinks: false in the pod", name))
				continue
			}
			near := nearest(strings.ToUpper(name), names, (len(name)-len(envPrefix))/2)
			errs = append(errs, fmt.Errorf("unknown setting %s in the environment%s", name, near))
		}
	}
	return errs
}

// serviceLink matches the variables that Kubernetes sets in pods for each Service. Those of
// a Service called troupe have the prefix of settings.
var serviceLink = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// notSettings are other variables with the prefix, of commands and of tests.
var notSettings = map[string]bool{"TROUPE_CONFIG": true, "TROUPE_URL": true,
	"TROUPE_ALONE": true, "TROUPE_ASSISTANT": true, "TROUPE_BINARY": true, "TROUPE_CHAOS": true, "TROUPE_CLUSTER_LOGS": true, "TROUPE_CONFORMANCE": true, "TROUPE_CUDA_DEVICE": true, "TROUPE_CUDA_H": true, "TROUPE_CUDA_MUTANTS": true, "TROUPE_CUDA_SANITIZE": true, "TROUPE_CUDA_TESTS": true, "TROUPE_CUDA_TILES": true, "TROUPE_ETCD": true, "TROUPE_FAKE_CUDA": true, "TROUPE_GOLDEN_OUTPUTS": true, "TROUPE_TOOLS": true, "TROUPE_PICTURES": true,
	"TROUPE_SEED": true, "TROUPE_SOAK": true, "TROUPE_SOAK_TIME": true}
