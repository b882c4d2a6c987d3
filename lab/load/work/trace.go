package work

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/lab/trace"
)

// Trace repeats the requests of a recorded trace at its times, with its lengths
// and shared prefixes.
type Trace struct {
	// From is read to its end and not closed.
	From   trace.Reader
	Name   string // of the file
	Writer *Writer
	// Speed is how much faster than recorded requests are due, above 0.
	Speed float64

	symbols []int32
	next    int
}

// Check says what is wrong with the settings.
func (s *Trace) Check() error {
	if !(s.Speed > 0 && s.Speed <= 1e6) {
		return fmt.Errorf("--speed is %g; it must be above 0 and at most 1e6; 2 is twice as fast as recorded", s.Speed)
	}
	return nil
}

// Size implements Source: it is not known.
func (s *Trace) Size() int { return 0 }

// Describe implements Source.
func (s *Trace) Describe() string {
	return fmt.Sprintf("trace: %s at %g times its speed, %s", s.Name, s.Speed, s.Writer.Describe())
}

// Notes implements Source.
func (s *Trace) Notes() []string {
	if s.Writer.Vocab > 0 {
		return nil
	}
	return []string{"the prompts are words, so their lengths are approximate; with a server that accepts token ids they are exact"}
}

// Next implements Source. Errors besides io.EOF name file and line.
func (s *Trace) Next() (*Session, error) {
	r, err := s.From.Next()
	if err != nil {
		return nil, err
	}
	s.symbols = r.Tokens(s.symbols[:0])
	due := float64(r.Arrival) / s.Speed
	if due > float64(trace.MaxTime) {
		return nil, fmt.Errorf("line %d of the trace is due after more than 20 years; raise --speed", r.Line)
	}
	session := &Session{Index: s.next, Due: time.Duration(due), Timed: true,
		Turns: []Turn{s.Writer.Turn(max(r.Output, 1), s.symbols)}}
	s.next++
	return session, nil
}
