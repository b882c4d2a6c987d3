package radix_test

import (
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/gittins"
	"github.com/troupe-engine/troupe/memory/radix/policies"
)

// The tests against the twin cover all policies that can be chosen by name.
func init() {
	for _, name := range policies.Names() {
		policy, _ := policies.ByName(name)
		radix.TreeVariants[name] = func() radix.TreeOptions { return radix.TreeOptions{Policy: policy()} }
	}
	radix.TreeVariants["gittins history"] = func() radix.TreeOptions {
		return radix.TreeOptions{Policy: gittins.New(), History: 1 << 20}
	}
}
