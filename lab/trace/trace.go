package trace

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Limits of what a reader accepts. A trace beyond them is damaged or hostile.
const (
	MaxTokens       = 1 << 27                   // of a request's input, and of its output
	MaxLine         = 32 << 20                  // bytes, enough for 2 million block ids
	MaxTime         = 20 * 365 * 24 * time.Hour // after the first request
	MaxConversation = 256 << 20                 // bytes of a JSON file of one conversation
)

type Request struct {
	// Line is the line of the file, or in formats of several files the position in
	// the merged order. From 1, never repeated.
	Line    int
	Arrival time.Duration // from the start of the trace; never goes back
	Input   int           // tokens of the prompt, at least 1
	Output  int           // tokens generated, from 0 on
	// Blocks are the prompt's block ids, with or without a partial last one. Equal ids
	// mean equal blocks after equal prefixes; nil: prefixes are not known.
	Blocks    []uint64
	BlockSize int // tokens in a block; 0 without blocks
	// Conversation and Tenant are opaque names, empty if unknown.
	Conversation string
	Tenant       string
	Subagent     bool // another conversation started this one
	Priority     int32
}

// Reader reads a trace in order of arrival. Not safe for concurrent use.
type Reader interface {
	// Next returns the next request, which the caller owns, or io.EOF at the end. Other
	// errors are *Error or the file system's, and end the reading.
	Next() (*Request, error)
	// Progress returns the bytes read and the whole (compressed) size, 0 if unknown.
	Progress() (read, size int64)
	Close() error
}

// Options are for formats that leave something open. The zero value is valid.
type Options struct {
	Seed uint64 // chooses the start of each conversation (weka)
	// ConversationGap is the mean time between the starts of conversations (weka), drawn
	// from an exponential distribution; zero means DefaultConversationGap.
	ConversationGap time.Duration
	// Warn, if not nil, gets a note on what a reader leaves out, with file and line.
	Warn func(note string)
}

const DefaultConversationGap = time.Minute

// Error is what is wrong with a trace, and where.
type Error struct {
	File string
	Line int // from 1; 0 is the whole file
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.What)
}

// perLine are the formats with one request per line; besides them there is weka.
var perLine = map[string]format{"azure": azure, "jsonl": jsonl, "mooncake": mooncake}

// Formats lists the names that Open knows.
func Formats() []string { return append(slices.Sorted(maps.Keys(perLine)), "weka") }

// Open opens a trace. The caller closes the reader.
func Open(path, format string, opts Options) (Reader, error) {
	lines, ok := perLine[format]
	switch {
	case !ok && format != "weka":
		return nil, fmt.Errorf("trace format %q is not known; use one of %s", format, strings.Join(Formats(), ", "))
	case opts.ConversationGap < 0:
		return nil, fmt.Errorf("--conversation-gap is %v; it must be above 0, for example %v", opts.ConversationGap, DefaultConversationGap)
	case format == "weka":
		return openWeka(path, opts)
	}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, but --format %s reads a single file; give the file", path, format)
	}
	return openRecords(path, lines, opts)
}
