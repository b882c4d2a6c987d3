package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/troupe-engine/troupe/telemetry/recording"
)

// MooncakeBlock is the number of tokens in a block of a Mooncake trace.
const MooncakeBlock = 512

// mooncake reads the traces that came with "Mooncake: Trading More Storage for
// Less Computation", FAST 2025.
type mooncake struct {
	*lines
	clock
}

type mooncakeLine struct {
	Timestamp *float64      `json:"timestamp"`     // ms
	Input     *int64        `json:"input_length"`  // tokens
	Output    *int64        `json:"output_length"` // tokens
	HashIDs   recording.IDs `json:"hash_ids"`      // one per begun block
}

func openMooncake(path string, _ Options) (Reader, error) {
	l, err := openLines(path)
	if err != nil {
		return nil, err
	}
	return &mooncake{lines: l}, nil
}

func (m *mooncake) Next() (*Request, error) {
	text, err := m.next()
	if err == io.EOF && !m.begun {
		return nil, &Error{File: m.path, What: "there is no request in the file"}
	}
	if err != nil {
		return nil, err
	}
	var v mooncakeLine
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, m.fail("%s", jsonFault(err))
	}
	switch {
	case v.Timestamp == nil:
		return nil, m.fail("timestamp is missing")
	case v.Input == nil:
		return nil, m.fail("input_length is missing")
	case v.Output == nil:
		return nil, m.fail("output_length is missing")
	case v.HashIDs == nil:
		return nil, m.fail("hash_ids is missing")
	}
	if what := checkLengths(*v.Input, *v.Output); what != "" {
		return nil, m.fail("%s", what)
	}
	if what := checkBlocks(len(v.HashIDs), int(*v.Input), MooncakeBlock, true); what != "" {
		return nil, m.fail("%s", what)
	}
	at, what := m.arrival(*v.Timestamp)
	if what != "" {
		return nil, m.fail("%s", what)
	}
	return &Request{Line: m.line, Arrival: at, Input: int(*v.Input), Output: int(*v.Output),
		Blocks: v.HashIDs, BlockSize: MooncakeBlock}, nil
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
			return fmt.Sprintf("want a JSON object, got %s", t.Value)
		}
		return fmt.Sprintf("%s is %s; want %s", t.Field, t.Value, wanted(t.Type.String()))
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
