package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// records reads a file with one request per line.
type records struct {
	*lines
	clock
}

func openRecords(path string) (*records, error) {
	l, err := openLines(path)
	return &records{lines: l}, err
}

// nextLine returns the next line, or io.EOF after the last request.
func (r *records) nextLine() ([]byte, error) {
	text, err := r.next()
	if err == io.EOF && !r.begun {
		err = &Error{File: r.path, What: "the file has no request"}
	}
	return text, err
}

// decode reads the next line as JSON.
func (r *records) decode(v any) error {
	text, err := r.nextLine()
	if err == nil {
		if err = json.Unmarshal(text, v); err != nil {
			err = r.fail("%s", jsonFault(err))
		}
	}
	return err
}

// field is a member of a line; nil if it is missing.
type field[T any] struct {
	name  string
	value *T
}

// fill checks what all formats in JSON have, and sets it in q: its arrival in
// milliseconds and its lengths. whole tells whether a partial last block must
// have an id.
func (r *records) fill(q *Request, at field[float64], input, output field[int64], whole bool) (err error) {
	switch {
	case at.value == nil:
		return r.fail("%s is missing", at.name)
	case input.value == nil:
		return r.fail("%s is missing", input.name)
	case output.value == nil:
		return r.fail("%s is missing", output.name)
	}
	what := checkLengths(*input.value, *output.value)
	if what == "" && q.Blocks != nil {
		what = checkBlocks(len(q.Blocks), int(*input.value), q.BlockSize, whole)
	}
	if what == "" {
		q.Arrival, what = r.arrival(*at.value)
	}
	if what != "" {
		return r.fail("%s", what)
	}
	q.Line, q.Input, q.Output = r.line, int(*input.value), int(*output.value)
	return nil
}

// clock checks that times do not go back.
type clock struct {
	begun bool
	last  time.Duration
}

// arrival turns milliseconds into a time since the start of the trace.
func (c *clock) arrival(ms float64) (time.Duration, string) {
	if !(ms >= 0 && ms <= float64(MaxTime/time.Millisecond)) {
		return 0, fmt.Sprintf("the time is %g ms; it must be 0 to %d days", ms, MaxTime/(24*time.Hour))
	}
	at := time.Duration(ms * float64(time.Millisecond))
	return at, c.advance(at)
}

func (c *clock) advance(at time.Duration) string {
	if c.begun && at < c.last {
		return fmt.Sprintf("the time goes back from %v to %v; sort the trace by time", c.last, at)
	}
	c.begun, c.last = true, at
	return ""
}

// jsonFault words an error of encoding/json for people.
func jsonFault(err error) string {
	if t, ok := err.(*json.UnmarshalTypeError); ok {
		if t.Field == "" {
			return fmt.Sprintf("expected a JSON object, got %s", t.Value)
		}
		return fmt.Sprintf("%s is %s; it must be %s", t.Field, t.Value, wanted(t.Type.String()))
	}
	if s, ok := err.(*json.SyntaxError); ok {
		return fmt.Sprintf("broken JSON at byte %d: %v", s.Offset, s)
	}
	return err.Error()
}

func wanted(kind string) string {
	switch kind {
	case "int64", "int", "uint64":
		return "a whole number"
	case "int32":
		return "a whole number of 32 bits"
	case "float64":
		return "a number"
	case "string":
		return "a string"
	}
	return "another type"
}
