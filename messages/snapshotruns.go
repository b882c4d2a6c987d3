package messages

import (
	"fmt"
	"math"
	"strconv"
)

// The bounds of the runs that a snapshot lists: a pool in many pieces has millions.
const (
	MostRequestRuns  = 256
	MostSnapshotRuns = 8192
)

// PageRuns is a list of runs. As JSON a run is the list of its first page and its length.
type PageRuns []PageRun

// pages is how many pages the runs have.
func (r PageRuns) pages() (n int) {
	for _, run := range r {
		n += int(run.N)
	}
	return n
}

// RunsOf lists the runs that pages begin with, at most most of them. hidden is how many of
// the pages it leaves out.
func RunsOf(pages []Page, most int) (runs PageRuns, hidden int) {
	runs = PageRuns{}
	for len(pages) > 0 && len(runs) < most {
		run := FirstRun(pages)
		runs, pages = append(runs, run), pages[run.N:]
	}
	return runs, len(pages)
}

// cutRuns leaves out runs, in equal shares, if all requests together have more than most.
func (s *Snapshot) cutRuns(most int) {
	total := 0
	for i := range s.Requests {
		total += len(s.Requests[i].Private)
	}
	if total <= most {
		return
	}
	share := most / len(s.Requests)
	for i := range s.Requests {
		if r := &s.Requests[i]; len(r.Private) > share {
			r.Hidden += r.Private[share:].pages()
			r.Private = r.Private[:share:share]
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (r PageRuns) MarshalJSON() ([]byte, error) {
	text := make([]byte, 1, 2+16*len(r))
	text[0] = '['
	for i, run := range r {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '['), int64(run.First), 10)
		text = strconv.AppendInt(append(text, ','), int64(run.N), 10)
		text = append(text, ']')
	}
	return append(text, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler. It reads what MarshalJSON writes, without
// spaces: a snapshot has thousands of runs, and encoding/json takes several times as long.
func (r *PageRuns) UnmarshalJSON(text []byte) error {
	*r = PageRuns{}
	if s := string(text); s == "[]" || s == "null" {
		return nil
	}
	for rest := text[1:]; len(rest) > 0 && rest[0] == '['; rest = rest[1:] {
		first, after, ok := cutPage(rest[1:], ',')
		n, after, also := cutPage(after, ']')
		if !ok || !also || len(after) == 0 {
			break
		}
		if *r = append(*r, PageRun{first, n}); string(after) == "]" {
			return nil
		}
		if rest = after; rest[0] != ',' {
			break
		}
	}
	return fmt.Errorf("a list of runs is %.40q; want pairs of a page and a number of pages, as in [[3,1],[7,20]]", text)
}

// cutPage reads a number up to a byte, and returns what comes after that.
func cutPage(text []byte, end byte) (p Page, after []byte, ok bool) {
	for i, c := range text {
		switch {
		case c == end:
			return p, text[i+1:], i > 0
		case c < '0' || c > '9' || p > (math.MaxInt32-9)/10:
			return 0, nil, false
		}
		p = 10*p + Page(c-'0')
	}
	return 0, nil, false
}
