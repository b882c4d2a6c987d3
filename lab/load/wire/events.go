package wire

import (
	"bytes"
	"errors"
)

// MaxEvent is the longest event of a stream in bytes; a longer one is damaged or hostile.
const MaxEvent = 16 << 20

// ErrLongEvent is an event or a line beyond MaxEvent.
var ErrLongEvent = errors.New("an event of the stream is longer than 16 MiB")

// Events splits a stream of server-sent events by WHATWG's HTML standard (section 9.2.6):
// lines end with LF, CR or CRLF, a line that begins with a colon is a comment, data of
// several lines is joined by LF, an empty line ends an event. Fields besides data and event
// are skipped. The zero value is at the start of a stream. Not safe for concurrent use.
type Events struct {
	line  []byte // of an unfinished line
	data  []byte // of the event so far, each line with an LF
	name  []byte
	begun bool // the start, where a byte order mark can be, is past
	afterCR,
	hasData bool
}

// Reset starts another stream and keeps the memory.
func (e *Events) Reset() {
	*e = Events{line: e.line[:0], data: e.data[:0], name: e.name[:0]}
}

// Feed reads the next bytes of the stream and calls each for every event that ends in them;
// its error ends Feed. name and data are valid during the call; name is empty if there is none.
func (e *Events) Feed(p []byte, each func(name, data []byte) error) error {
	for len(p) > 0 {
		if e.afterCR {
			e.afterCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			if len(e.line)+len(p) > MaxEvent {
				return ErrLongEvent
			}
			e.line = append(e.line, p...)
			return nil
		}
		line := p[:end]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		e.afterCR = p[end] == '\r'
		p = p[end+1:]
		err := e.take(line, each)
		e.line = e.line[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// lineEnd is the index of the end of the first line of p, -1 if it does not end.
func lineEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		return bytes.IndexByte(p, '\r')
	}
	if cr := bytes.IndexByte(p[:end], '\r'); cr >= 0 {
		return cr
	}
	return end
}

// End calls each for an event without its empty line at the end of the stream. The
// standard drops such an event, but some servers close after the last line.
func (e *Events) End(each func(name, data []byte) error) error {
	if len(e.line) > 0 {
		if err := e.take(e.line, each); err != nil {
			return err
		}
		e.line = e.line[:0]
	}
	return e.take(nil, each)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// take reads one line without its end.
func (e *Events) take(line []byte, each func(name, data []byte) error) error {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		return e.dispatch(each)
	}
	field, value, _ := bytes.Cut(line, []byte{':'}) // a comment has an empty field
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(field) {
	case "data":
		if len(e.data)+len(value) > MaxEvent {
			return ErrLongEvent
		}
		e.data = append(append(e.data, value...), '\n')
		e.hasData = true
	case "event":
		e.name = append(e.name[:0], value...)
	}
	return nil
}

func (e *Events) dispatch(each func(name, data []byte) error) (err error) {
	if e.hasData {
		err = each(e.name, e.data[:len(e.data)-1])
	}
	e.data, e.name, e.hasData = e.data[:0], e.name[:0], false
	return err
}
