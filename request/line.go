package request

import "github.com/troupe-engine/troupe/messages"

// line is who waits for admission, in sums.
type line struct {
	requests int
	prompts  int // tokens
	most     int // output tokens that they may have altogether
	// certain counts those whose outputs have exactly as many tokens as they
	// allow, and these tokens.
	certain, certainMost int
	// classes count them by what decides who goes first.
	classes map[class]int
}

// class is what the queue's order tells apart; the zero class if it goes by
// arrival, or by something that intake does not know.
type class struct {
	tenant   string
	priority int32
}

func (t *Table) classOf(s *messages.Submission) class {
	switch {
	case t.opt.Fair:
		return class{tenant: s.Tenant}
	case t.opt.Oust:
		return class{priority: s.Priority}
	}
	return class{}
}

// joinLine notes that an entry waits.
func (t *Table) joinLine(e *entry) {
	e.waits = true
	t.line.requests++
	t.line.prompts += len(e.sub.Prompt)
	t.line.most += e.params.MaxTokens
	if e.params.IgnoreEOS {
		t.line.certain++
		t.line.certainMost += e.params.MaxTokens
	}
	t.line.classes[t.classOf(&e.sub)]++
}

// leaveLine notes that an entry waits no longer. The turnover is that of a line
// that was never empty.
func (t *Table) leaveLine(e *entry) {
	e.waits = false
	t.line.requests--
	t.line.prompts -= len(e.sub.Prompt)
	t.line.most -= e.params.MaxTokens
	if e.params.IgnoreEOS {
		t.line.certain--
		t.line.certainMost -= e.params.MaxTokens
	}
	c := t.classOf(&e.sub)
	if t.line.classes[c]--; t.line.classes[c] == 0 {
		delete(t.line.classes, c)
	}
	if t.line.requests == 0 {
		t.turnover = 0
	}
}

// ahead is how many of those who wait go before a new request.
func (t *Table) ahead(s *messages.Submission) int {
	switch c := t.classOf(s); {
	case t.opt.Fair: // tenants take turns
		own, tenants := t.line.classes[c], len(t.line.classes)
		if own == 0 {
			tenants++
		}
		return min(t.line.requests, (own+1)*tenants-1)
	case t.opt.Oust:
		n := 0
		for other, count := range t.line.classes {
			if t.rank(other.priority) >= t.rank(c.priority) {
				n += count
			}
		}
		return n
	}
	return t.line.requests
}

// admitted notes that the engine has admitted an entry; from now on its call is
// being worked on.
func (t *Table) admitted(e *entry) {
	if e.waits {
		t.leaveLine(e)
		e.runs, e.call.begun = true, true
		t.running++
	}
}

// noteToken counts an output token of a request that runs.
func (t *Table) noteToken() { t.output++ }

// noteEnd takes an entry that has ended out of the line, or notes what it took.
func (t *Table) noteEnd(e *entry) {
	if e.waits {
		t.leaveLine(e)
	}
	if !e.runs {
		return
	}
	e.runs = false
	t.running--
	t.output -= len(e.output)
	t.pace.ended(len(e.sub.Prompt), len(e.output))
	if t.line.requests > 0 {
		t.turnover++
	}
}
