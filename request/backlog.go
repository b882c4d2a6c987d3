package request

import "github.com/troupe-engine/troupe/messages"

// backlog sums up the requests that wait for admission.
type backlog struct {
	requests int
	prompts  int // tokens
	outputs  int // the most tokens that all outputs together may have
	// fixed counts the requests with ignore_eos, which are expected to use their whole
	// limit; fixedOutputs is the sum of these limits.
	fixed, fixedOutputs int
	classes             map[class]int // requests by class
}

// class is what the policy admits by: the tenant or the priority; zero under other policies.
type class struct {
	tenant   string
	priority int32
}

// change adds a request n times: 1 when it begins to wait, -1 when it stops.
func (b *backlog) change(e *entry, c class, n int) {
	b.requests += n
	b.prompts += n * len(e.sub.Prompt)
	b.outputs += n * e.params.MaxTokens
	if e.params.IgnoreEOS {
		b.fixed += n
		b.fixedOutputs += n * e.params.MaxTokens
	}
	if b.classes[c] += n; b.classes[c] == 0 {
		delete(b.classes, c)
	}
}

func (o *TableOptions) classOf(s *messages.Submission) class {
	switch {
	case o.Fair:
		return class{tenant: s.Tenant}
	case o.Displace:
		return class{priority: s.Priority}
	}
	return class{}
}

// rank orders priorities: the higher rank goes first.
func (o *TableOptions) rank(priority int32) int64 {
	if o.LowFirst {
		return -int64(priority)
	}
	return int64(priority)
}

// ahead is how many waiting requests go before a new one.
func (b *backlog) ahead(o *TableOptions, s *messages.Submission) int {
	switch c := o.classOf(s); {
	case o.Fair: // tenants take turns
		own, tenants := b.classes[c], len(b.classes)
		if own == 0 {
			tenants++
		}
		return min(b.requests, (own+1)*tenants-1)
	case o.Displace:
		n := 0
		for other, count := range b.classes {
			if o.rank(other.priority) >= o.rank(c.priority) {
				n += count
			}
		}
		return n
	}
	return b.requests
}
