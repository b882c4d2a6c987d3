package node

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

// keep is how many events are kept.
const keep = 4096

// eventLog numbers events and keeps the newest. Numbers begin at the time of the start in
// milliseconds, so a number of an earlier process is never one of this process.
type eventLog struct {
	begun uint64         // the number before the first event
	ring  []report.Event // by number modulo keep
	last  uint64
}

func newEventLog(now time.Time) *eventLog {
	begun := uint64(max(now.UnixMilli(), 0))
	return &eventLog{begun: begun, last: begun}
}

func (l *eventLog) add(e report.Event) report.Event {
	l.last++
	e.Number = l.last
	if len(l.ring) < keep {
		l.ring = append(l.ring, e)
	} else {
		l.ring[l.index(e.Number)] = e
	}
	return e
}

// oldest is the number before the oldest event that is kept.
func (l *eventLog) oldest() uint64 { return l.last - uint64(len(l.ring)) }

func (l *eventLog) index(number uint64) int { return int((number - l.begun - 1) % keep) }

// after returns at most most events after a number, and before them a gap event if some
// are missing.
func (l *eventLog) after(number uint64, most int, now time.Time) (list []report.Event) {
	oldest := l.oldest()
	if number == 0 {
		number = oldest
	}
	if number < oldest || number > l.last {
		list = append(list, report.Event{
			Number: oldest, At: now, Kind: report.EventGap,
			Text: fmt.Sprintf("the events after number %d are missing: they are no longer kept, or the number is not from this process", number),
		})
		number = oldest
	}
	for ; number < l.last && len(list) < most; number++ {
		list = append(list, l.ring[l.index(number+1)])
	}
	return list
}
