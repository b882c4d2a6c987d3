package httpapi

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"time"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// A snapshot takes the time of its engine. The rest after it grows with that time, so that
// an open board takes far below 1 % of it: see docs/benchmarks/board.md.
const (
	boardInterval   = 250 * time.Millisecond
	boardPerPage    = time.Microsecond      // of the pools; owners are noted and checked at 1 to 2 ns a page
	boardPerRun     = 5 * time.Microsecond  // of pages; claimed at 10 to 20 ns a run
	boardPerRequest = 50 * time.Microsecond // described at 0.1 µs, without its runs
	boardLongest    = time.Minute
)

// restAfter is what a snapshot adds to the rest.
func restAfter(s *messages.Snapshot) time.Duration {
	return time.Duration(s.Count.Total)*boardPerPage + time.Duration(s.Runs)*boardPerRun + time.Duration(len(s.Requests))*boardPerRequest
}

// restOf is the time between the snapshots of some models and the next ones.
func restOf(models []boardModel) time.Duration {
	rest := boardInterval
	for i := range models {
		for j := range models[i].Engines {
			rest = min(boardLongest, rest+models[i].Engines[j].rest)
		}
	}
	return rest
}

// runBoard makes frames until nobody reads them any more. If it panics, its readers' streams
// end, and the next reader starts another run.
func (s *Server) runBoard() {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	defer func() {
		if p := recover(); p != nil {
			s.boardPanicked(p)
			s.board.painter = nil
			s.board.fail()
		}
	}()
	around := newOperators(s.Cluster)
	if s.Cluster != nil {
		go func() {
			defer end()
			defer func() {
				if p := recover(); p != nil {
					s.boardPanicked(p)
				}
			}()
			around.follow(ctx)
		}()
	}
	if s.board.painter == nil {
		s.board.painter = newPainter(s)
	}
	painter := s.board.painter
	painter.forget()
	for s.board.wait(ctx) {
		s.board.pause(painter.rest) // also if this frame fails
		frame := painter.frame(ctx, around.seen.Load())
		s.board.pause(painter.rest)
		if text, err := json.Marshal(frame); err == nil {
			s.board.publish(text)
		} else {
			s.Log.Error().Err(err).Msg("bug: a frame of the board is not JSON; please report this")
		}
	}
}

func (s *Server) boardPanicked(p any) {
	s.Log.Error().Str("panic", shell.Fault(p)).Str("stack", string(debug.Stack())).Msg("bug in the server: the board panicked; please report it. Requests are not affected")
}

// pause keeps the next snapshots from being asked for.
func (b *board) pause(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = time.Now().Add(d)
}

// wait waits until the next snapshots may be asked for. It is false when the run has ended:
// without readers, or because ctx has ended, which is a failure.
func (b *board) wait(ctx context.Context) bool {
	for {
		b.mu.Lock()
		if len(b.readers) == 0 {
			b.stop = nil
		}
		pause, stop := time.Until(b.next), b.stop
		b.mu.Unlock()
		switch {
		case stop != nil && ctx.Err() != nil:
			b.fail()
			return false
		case stop == nil || pause <= 0:
			return stop != nil
		}
		due := time.NewTimer(pause)
		select {
		case <-due.C:
		case <-stop: // unless others have come meanwhile
		case <-ctx.Done():
		}
		due.Stop()
	}
}

// fail ends the run and the streams of its readers.
func (b *board) fail() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for frames := range b.readers {
		close(frames)
	}
	clear(b.readers)
	b.stop = nil
}
