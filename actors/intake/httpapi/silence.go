package httpapi

import "time"

// silence sends a comment when a stream has sent nothing for a while, so that clients
// and proxies do not give it up: its engine may be lost, and it waits for another one.
type silence struct {
	events *sse
	period time.Duration
	timer  *time.Timer   // nil before the stream begins
	over   chan struct{} // has a value when the stream may have been silent for a period
}

// waiting is the comment. No empty line follows: some clients, such as older versions of
// OpenAI's for Go, read an empty line as the end of an event, also of one without data.
const waiting = ": waiting\n"

// begin starts the clock. Before a stream has begun it sends nothing, so that an error
// can still have its own status, which clients know how to handle.
func (s *silence) begin() {
	if s.timer == nil && s.period > 0 {
		// A timer with a channel of its own would cost time for each token.
		s.timer = time.AfterFunc(s.period, func() { s.over <- struct{}{} })
	}
}

// end sends a comment if nothing was sent for a period, and waits for the next one.
func (s *silence) end() *apiError {
	if rest := s.period - time.Since(s.events.sent()); rest > 0 {
		s.timer.Reset(rest)
		return nil
	}
	s.events.buf.WriteString(waiting)
	err := s.events.flush()
	s.timer.Reset(s.period)
	return err
}

func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
