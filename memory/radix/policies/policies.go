// Package policies has the eviction policies of the radix cache by name.
package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/gittins"
)

var makers = map[string]func() radix.Policy{
	"lru":      func() radix.Policy { return radix.LRU{} },
	"lfu":      func() radix.Policy { return radix.LFU{} },
	"slru":     func() radix.Policy { return radix.SLRU{} },
	"fifo":     func() radix.Policy { return radix.FIFO{} },
	"mru":      func() radix.Policy { return radix.MRU{} },
	"filo":     func() radix.Policy { return radix.FILO{} },
	"priority": func() radix.Policy { return radix.Priority{} },
	"gittins":  func() radix.Policy { return gittins.New() },
}

// Names lists the names that ByName knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(makers)) }

// ByName returns the function that makes a policy: each tree needs one of its
// own. An unknown name is an error that lists the known ones.
func ByName(name string) (func() radix.Policy, error) {
	maker := makers[name]
	if maker == nil {
		return nil, fmt.Errorf("eviction policy %q is not known; use one of %s", name, strings.Join(Names(), ", "))
	}
	return maker, nil
}

// History is TreeOptions.History for a policy beside a pool of pages: gittins learns from
// pages that come back, and recognises their conversations. The others need none.
func History(name string, pages int) int {
	if name != "gittins" {
		return 0
	}
	return historyShare * pages
}

// historyShare was measured: at 2 a small pool loses a third of what gittins
// gains over lru, and more than 8 brings nothing.
const historyShare = 4
