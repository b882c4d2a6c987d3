package discovery

import (
	"maps"
	"slices"
	"time"
)

// maxPeers bounds the list, and what is kept of each source. It is far above the sizes that
// a gateway is made for, and guards against a registry filled by something else.
const maxPeers = 4096

// proposals is the list over all sources. An address stays for linger after the last source
// has stopped reporting it: after an outage of etcd the leases of healthy nodes have expired,
// and a DNS server with many records may answer with some of them only.
type proposals struct {
	own    string
	linger time.Duration
	now    []map[string]bool        // per source: what it reported last
	gone   map[string]time.Duration // reported before, and when it leaves the list
}

func newProposals(own string, sources int, linger time.Duration) *proposals {
	return &proposals{own: own, linger: linger, now: make([]map[string]bool, sources), gone: map[string]time.Duration{}}
}

// report replaces what a source knows. It reports whether addresses had to be left out.
func (p *proposals) report(source int, addresses []string, now time.Duration) (cut bool) {
	before := p.now[source]
	p.now[source] = map[string]bool{}
	for _, a := range addresses {
		if a == p.own {
			continue
		}
		if len(p.now[source]) == maxPeers {
			cut = true
			break
		}
		p.now[source][a] = true
	}
	for a := range before {
		if !p.reported(a) && len(p.gone) < maxPeers {
			p.gone[a] = now + p.linger
		}
	}
	return cut
}

func (p *proposals) reported(address string) bool {
	return slices.ContainsFunc(p.now, func(m map[string]bool) bool { return m[address] })
}

// list gives the addresses in order, and when the next one leaves the list; 0: none will.
func (p *proposals) list(now time.Duration) (addresses []string, next time.Duration) {
	all := map[string]bool{}
	for _, m := range p.now {
		maps.Copy(all, m)
	}
	for a, until := range p.gone {
		if all[a] || until <= now {
			delete(p.gone, a)
			continue
		}
		all[a] = true
		if next == 0 || until < next {
			next = until
		}
	}
	addresses = slices.Sorted(maps.Keys(all))
	return addresses[:min(len(addresses), maxPeers)], next
}
