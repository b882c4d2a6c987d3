package trace

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Limits of what a reader accepts. A trace beyond them is damaged or hostile.
const (
	// MaxTokens is the longest input and the longest output of one request.
	MaxTokens = 1 << 27
	// MaxLine is the longest line in bytes: enough for 2 million block ids.
	MaxLine = 32 << 20
	// MaxTime is the longest time after the first request.
	MaxTime = 20 * 365 * 24 * time.Hour
	// MaxConversation is the biggest JSON file of one conversation in bytes.
	MaxConversation = 256 << 20
)

// Request is one request of a trace.
type Request struct {
	// Line is its place in the trace: the line of the file, or for formats of
	// several files its place in the merged order. From 1, never repeated.
	Line int
	// Arrival counts from the start of the trace. It never goes back.
	Arrival time.Duration
	Input   int // tokens of the prompt, at least 1
	Output  int // tokens generated, may be 0
	// Blocks are the ids of the prompt's blocks in order. Equal ids mean equal
	// blocks after equal prefixes. They cover the prompt with or without its
	// partial last block; none means that prefixes are not known.
	Blocks []uint64
	// BlockSize is the number of tokens in a block; 0 without blocks.
	BlockSize int
	// Conversation and Tenant are opaque names, empty where unknown.
	Conversation string
	Tenant       string
	// Subagent tells a conversation that another one started.
	Subagent bool
	Priority int32
}

// Reader reads a trace in order of arrival. Not safe for concurrent use.
type Reader interface {
	// Next returns the next request, which belongs to the caller, or io.EOF
	// after the last one. Other errors are *Error or come from the file
	// system; after an error the reader is done.
	Next() (*Request, error)
	// Progress tells bytes read and the size of what is read; size is 0 where
	// unknown. Compressed bytes count.
	Progress() (read, size int64)
	Close() error
}

// Options are for formats that leave something open. The zero value is good.
type Options struct {
	// Seed chooses the start of each conversation (weka).
	Seed uint64
	// ConversationGap is the mean time from the start of one conversation to
	// the start of the next (weka); zero means DefaultConversationGap.
	// Soft: the gaps are drawn from an exponential distribution.
	ConversationGap time.Duration
	// Warn, if not nil, is told what a reader leaves out, with file and line.
	Warn func(note string)
}

// DefaultConversationGap starts a conversation every minute.
const DefaultConversationGap = time.Minute

// Error says what is wrong with a trace, and where.
type Error struct {
	File string
	Line int // from 1; 0 when the whole file is meant
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.What)
}

var openers = map[string]func(path string, opts Options) (Reader, error){
	"azure":    openAzure,
	"jsonl":    openJSONL,
	"mooncake": openMooncake,
	"weka":     openWeka,
}

// Formats lists the names that Open knows.
func Formats() []string {
	names := make([]string, 0, len(openers))
	for name := range openers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Open opens a trace. The caller closes the reader.
func Open(path, format string, opts Options) (Reader, error) {
	open, ok := openers[format]
	if !ok {
		return nil, fmt.Errorf("trace format %q is not known; use one of %s", format, strings.Join(Formats(), ", "))
	}
	if opts.ConversationGap < 0 {
		return nil, fmt.Errorf("the gap between conversations is %v; it must be positive, or 0 for %v", opts.ConversationGap, DefaultConversationGap)
	}
	if format != "weka" {
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			return nil, fmt.Errorf("%s is a directory; format %s reads one file (only weka reads directories)", path, format)
		}
	}
	return open(path, opts)
}

// checkLengths refuses lengths that no request has.
func checkLengths(input, output int64) string {
	switch {
	case input < 1 || input > MaxTokens:
		return fmt.Sprintf("the input is %d tokens long; it must be 1 to %d", input, MaxTokens)
	case output < 0 || output > MaxTokens:
		return fmt.Sprintf("the output is %d tokens long; it must be 0 to %d", output, MaxTokens)
	}
	return ""
}

// checkBlocks refuses blocks that do not cover the input. With partial, the
// partial last block must have an id; without, it may.
func checkBlocks(blocks, input, blockSize int, partial bool) string {
	most := (input + blockSize - 1) / blockSize
	least := input / blockSize
	if partial {
		least = most
	}
	if blocks >= least && blocks <= most {
		return ""
	}
	want := fmt.Sprint(least)
	if least != most {
		want += fmt.Sprintf(" or %d", most)
	}
	return fmt.Sprintf("%d block ids for an input of %d tokens; blocks of %d tokens need %s", blocks, input, blockSize, want)
}
