package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/therootcompany/xz"
)

// format is a format with one request per line.
type format struct {
	header      string // the first line, for errors; "" if there is none
	checkHeader func(first []byte) error
	// decode sets all but Line. Its errors need no file and line; io.EOF ends the trace.
	decode func(r *records, text []byte) (*Request, error)
}

type records struct {
	*lines
	format
	warn  func(note string)
	begun bool          // a request has been read
	last  time.Duration // its arrival
	first time.Time     // the first one's, in formats with wall-clock times
}

func openRecords(path string, f format, opts Options) (Reader, error) {
	l, err := openLines(path)
	if err != nil {
		return nil, err
	}
	if f.header != "" {
		first, err := l.next()
		if err == io.EOF {
			err = &Error{File: path, What: "the file has no header; expected " + f.header}
		} else if err == nil {
			if wrong := f.checkHeader(first); wrong != nil {
				err = l.fail("%v", worded(wrong))
			}
		}
		if err != nil {
			l.Close()
			return nil, err
		}
	}
	return &records{lines: l, format: f, warn: opts.Warn}, nil
}

func (r *records) Next() (*Request, error) {
	text, err := r.next()
	switch {
	case err == io.EOF && !r.begun:
		return nil, &Error{File: r.path, What: "the file has no requests"}
	case err != nil:
		return nil, err
	}
	q, err := r.decode(r, text)
	switch {
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, r.fail("%v", worded(err))
	case r.begun && q.Arrival < r.last:
		return nil, r.fail("the time goes back from %v to %v; sort the trace by time", r.last, q.Arrival)
	}
	r.begun, r.last = true, q.Arrival
	q.Line = r.line
	return q, nil
}

// fill checks and sets what all JSON formats have: the arrival in milliseconds and the
// lengths, nil if missing; names are theirs. whole: a partial last block must have an id.
func (q *Request) fill(names [3]string, at *float64, input, output *int64, whole bool) error {
	for i, missing := range []bool{at == nil, input == nil, output == nil} {
		if missing {
			return fmt.Errorf("%s is missing", names[i])
		}
	}
	if err := q.setLengths(*input, *output); err != nil {
		return err
	}
	if q.Blocks != nil {
		if err := checkBlocks(len(q.Blocks), q.Input, q.BlockSize, whole); err != nil {
			return err
		}
	}
	if ms := *at; !(ms >= 0 && ms <= float64(MaxTime/time.Millisecond)) {
		return fmt.Errorf("the time is %g ms; it must be between 0 and %d days", ms, MaxTime/(24*time.Hour))
	}
	q.Arrival = time.Duration(*at * float64(time.Millisecond))
	return nil
}

// setLengths refuses lengths that no request has.
func (q *Request) setLengths(input, output int64) error {
	switch {
	case input < 1 || input > MaxTokens:
		return fmt.Errorf("the input has %d tokens; it must have between 1 and %d", input, MaxTokens)
	case output < 0 || output > MaxTokens:
		return fmt.Errorf("the output has %d tokens; it must have between 0 and %d", output, MaxTokens)
	}
	q.Input, q.Output = int(input), int(output)
	return nil
}

// checkBlocks refuses blocks that do not cover the input; whole is as in fill.
func checkBlocks(blocks, input, blockSize int, whole bool) error {
	most := (input + blockSize - 1) / blockSize
	least := input / blockSize
	if whole {
		least = most
	}
	if blocks >= least && blocks <= most {
		return nil
	}
	want := fmt.Sprint(least)
	if least != most {
		want += fmt.Sprintf(" or %d", most)
	}
	return fmt.Errorf("the request has %d block ids, but its input of %d tokens requires %s, each of %d tokens", blocks, input, want, blockSize)
}

// worded says in plain words what encoding/json and xz refuse; other errors stay.
func worded(err error) error {
	if errors.Is(err, xz.ErrMemlimit) {
		return fmt.Errorf("it needs a dictionary of more than %d MiB; pack it with xz -9 or a lower level", maxDictionary>>20)
	}
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Errorf("not valid JSON at byte %d: %v", e.Offset, e)
	case *json.UnmarshalTypeError:
		if e.Field == "" {
			return fmt.Errorf("expected a JSON object, got %s", e.Value)
		}
		kinds := map[string]string{"int64": "a whole number", "uint64": "a whole number", "int32": "a 32-bit integer", "float64": "a number", "string": "a string"}
		return fmt.Errorf("%s is %s; it must be %s", e.Field, e.Value, cmp.Or(kinds[e.Type.String()], "of another type"))
	}
	return err
}
