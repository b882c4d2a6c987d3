package node

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

func TestEventLogKeepsTheNewest(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	l := newEventLog(now)
	begun := uint64(1_000_000)
	if got := l.after(0, 10, now); got != nil {
		t.Errorf("an empty log has %v", got)
	}
	if got := l.after(5, 10, now); len(got) != 1 || got[0].Kind != report.EventGap || got[0].Number != begun {
		t.Errorf("a number of an earlier process: %v", got)
	}
	for range keep + 10 {
		l.add(report.Event{Kind: report.EventState})
	}
	last := begun + keep + 10
	for name, c := range map[string]struct {
		after uint64
		most  int
		first uint64
		gap   bool
		n     int
	}{
		"all":                 {0, keep * 2, begun + 11, false, keep},
		"the oldest that are": {begun + 10, 3, begun + 11, false, 3},
		"missing ones":        {begun + 9, 3, begun + 10, true, 3},
		"the last one":        {last - 1, 3, last, false, 1},
		"nothing new":         {last, 3, 0, false, 0},
		"a later process":     {last + 1, 2, begun + 10, true, 2},
	} {
		got := l.after(c.after, c.most, now)
		if len(got) != c.n || c.n > 0 && (got[0].Number != c.first || (got[0].Kind == report.EventGap) != c.gap) {
			t.Errorf("%s: %d events, the first one %+v", name, len(got), slices.Concat(got, []report.Event{{}})[0])
		}
		for i := 1; i < len(got); i++ {
			if got[i].Number != got[i-1].Number+1 {
				t.Fatalf("%s: %d follows %d", name, got[i].Number, got[i-1].Number)
			}
		}
	}
}
