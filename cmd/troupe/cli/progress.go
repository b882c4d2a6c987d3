package cli

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/internal/units"
)

// Status shows the progress of long work in a line on stderr, if that is a terminal.
type Status struct {
	began, shown time.Time
	on           bool
	from         *int64 // bytes at the first call of rate
}

func (s *Status) age() time.Duration { return time.Since(s.began) }

func NewStatus() *Status { return &Status{began: time.Now(), on: IsTerminal(os.Stderr)} }

// onScreen is the line that is shown, nil for none.
var onScreen atomic.Pointer[Status]

// A command that fails in the middle of long work leaves no line before its error.
func init() { cobra.OnFinalize(clearStatus) }

// clearStatus removes the line, whichever work it is of.
func clearStatus() {
	if onScreen.Swap(nil) != nil {
		wipe()
	}
}

func wipe() { fmt.Fprint(os.Stderr, "\r\x1b[K") }

// Show replaces the line, at most every 100 ms. Work of less than 300 ms shows nothing.
func (s *Status) Show(format string, args ...any) {
	now := time.Now()
	if !s.on || now.Sub(s.began) < 300*time.Millisecond || now.Sub(s.shown) < 100*time.Millisecond {
		return
	}
	s.shown = now
	onScreen.Store(s)
	fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
}

func (s *Status) Clear() {
	if onScreen.CompareAndSwap(s, nil) {
		wipe()
	}
	s.shown = time.Time{}
}

// LoadProgress shows the progress of loading weights.
func LoadProgress() func(done, total int64) {
	s := NewStatus()
	return func(done, total int64) {
		if done >= total {
			s.Clear()
			return
		}
		s.Show("loading weights: %3d %% of %s", done*100/max(total, 1), units.Bytes(total))
	}
}
