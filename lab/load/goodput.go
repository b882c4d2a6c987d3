package load

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Objectives are latency limits that a request must meet; 0: no limit.
type Objectives struct {
	TTFT, TPOT, E2E time.Duration
}

// ParseObjectives reads limits such as ttft:200ms; a plain number is ms, e2el means e2e.
func ParseObjectives(texts []string) (Objectives, error) {
	var o Objectives
	for _, all := range texts {
		for _, text := range strings.FieldsFunc(all, func(r rune) bool { return r == ' ' || r == ',' }) {
			name, value, found := strings.Cut(text, ":")
			limit, err := time.ParseDuration(value)
			if ms, numeric := strconv.ParseFloat(value, 64); numeric == nil {
				limit, err = time.Duration(ms*float64(time.Millisecond)), nil
			}
			if !found || err != nil || limit <= 0 {
				return o, fmt.Errorf("%q is not a latency limit; use for example ttft:200ms, tpot:50ms or e2e:10s", text)
			}
			to := map[string]*time.Duration{"ttft": &o.TTFT, "tpot": &o.TPOT, "e2e": &o.E2E, "e2el": &o.E2E}[strings.ToLower(name)]
			if to == nil {
				return o, fmt.Errorf("latency limit %q is not known; use ttft, tpot or e2e", name)
			}
			if *to != 0 {
				return o, fmt.Errorf("latency limit %s appears twice; remove one", name)
			}
			*to = limit
		}
	}
	return o, nil
}

func (o Objectives) Any() bool { return o != Objectives{} }

// String writes the limits in the form that ParseObjectives reads.
func (o Objectives) String() string {
	var all []string
	for _, l := range []struct {
		name  string
		limit time.Duration
	}{{"ttft", o.TTFT}, {"tpot", o.TPOT}, {"e2e", o.E2E}} {
		if l.limit > 0 {
			all = append(all, l.name+":"+l.limit.String())
		}
	}
	return strings.Join(all, " ")
}

// Met reports whether a finished request meets every limit. TPOT's is met by an answer of
// one token; TTFT's and TPOT's are not met by one that was not streamed.
func (o Objectives) Met(r *Record) bool {
	ttft, seen := r.TTFT()
	if !seen && o.TTFT+o.TPOT > 0 {
		return false
	}
	tpot, _ := r.TPOT()
	within := func(d, limit time.Duration) bool { return limit == 0 || d <= limit }
	return within(ttft, o.TTFT) && within(tpot, o.TPOT) && within(r.E2E(), o.E2E)
}
