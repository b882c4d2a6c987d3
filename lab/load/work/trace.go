package work

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/lab/trace"
)

// Trace repeats the requests of a recorded trace: its times, lengths and shared prefixes.
type Trace struct {
	From   trace.Reader // read to its end and not closed
	Name   string       // of the file
	Writer *Writer
	Speed  float64 // factor by which requests are due earlier than recorded, above 0
}

func (o Trace) Check() error {
	if !(o.Speed > 0 && o.Speed <= 1e6) {
		return fmt.Errorf("--speed is %g; it must be above 0 and at most 1e6; 2 is twice as fast as recorded", o.Speed)
	}
	return nil
}

// Source is of unknown size. Its errors besides io.EOF name file and line.
func (o Trace) Source() *Source {
	s := &Source{Description: fmt.Sprintf("trace: %s at %g times its speed, %s", o.Name, o.Speed, o.Writer.Describe())}
	if o.Writer.Vocab == 0 {
		s.Notes = []string{"prompts are words, so their lengths in tokens are approximate; with a server that accepts token ids they are exact"}
	}
	var symbols []int32
	s.Make = func(int) (*Session, error) {
		r, err := o.From.Next()
		if err != nil {
			return nil, err
		}
		due := float64(r.Arrival) / o.Speed
		if due > float64(trace.MaxTime) {
			return nil, fmt.Errorf("line %d of the trace would be sent after more than 20 years; raise --speed", r.Line)
		}
		symbols = r.Tokens(symbols[:0])
		return &Session{Due: time.Duration(due), Timed: true, Turns: []Turn{o.Writer.Turn(max(r.Output, 1), symbols)}}, nil
	}
	return s
}
