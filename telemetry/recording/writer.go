// Package recording writes an anonymised trace of a server's traffic. A trace says
// when requests arrived, how long they were, and which pages of their prompts are
// the same. docs/operations.md describes the format.
package recording

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	Version     = 1       // of the format
	MaxPageSize = 1 << 16 // tokens
)

// Header is the first line of a file, Line every further one. Numbers stay
// below 2^53, so that every JSON reader keeps them exactly.
type Header struct {
	Version *int64 `json:"troupe_trace"`
}

type Line struct {
	Arrival      *float64 `json:"arrival_ms"`
	Input        *int64   `json:"input"`
	Output       *int64   `json:"output"`
	Unfinished   bool     `json:"unfinished,omitempty"` // was running when the recording ended
	PageSize     int64    `json:"page_size,omitempty"`
	Pages        IDs      `json:"pages,omitempty"` // chained hashes of the prompt's whole pages
	Conversation *uint64  `json:"conversation,omitempty"`
	Tenant       *uint64  `json:"tenant,omitempty"`
	Priority     int32    `json:"priority,omitempty"`
}

// IDs are block ids, nearly all of a trace's bytes, so they are read without reflection.
type IDs []uint64

// UnmarshalJSON accepts whole numbers below 2^64. It gets valid JSON.
func (b *IDs) UnmarshalJSON(text []byte) error {
	if len(text) < 2 || text[0] != '[' {
		return fmt.Errorf("block ids must be an array of whole numbers, got %.20s", text)
	}
	comma := []byte{','}
	ids := make([]uint64, 0, bytes.Count(text, comma)+1)
	if list := bytes.TrimSpace(text[1 : len(text)-1]); len(list) > 0 {
		for one := range bytes.SplitSeq(list, comma) {
			one = bytes.TrimSpace(one)
			id, err := strconv.ParseUint(string(one), 10, 64)
			if err != nil {
				return fmt.Errorf("block id %.24s is not a whole number between 0 and 2^64-1", one)
			}
			ids = append(ids, id)
		}
	}
	*b = ids
	return nil
}

const (
	maxHeld    = 4 << 20 // page ids that may wait for a request that runs very long: 32 MiB
	lineWeight = 32      // memory of a request without its page ids, in page ids
)

// Writer writes the format. A line needs the length of the output, and lines are
// in order of arrival, so a request waits until all earlier ones have ended.
// When too much waits, the oldest is written as unfinished.
//
// Everything about the text or the users goes through a cipher with a key that only this
// writer has: equal things stay equal, none can be looked up. Safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	out    *bufio.Writer
	cipher cipher.Block
	key    [16]byte
	open   []*Entry // in order of arrival
	held   int      // weight of open
	most   int      // weight that may be held
	last   float64  // ms
	err    error    // the first one; nothing is written after it
}

// Entry is a request that has arrived and is not written yet.
type Entry struct {
	w     *Writer
	line  Line
	ended bool
}

// Arrived is what is known of a request when it arrives.
type Arrived struct {
	// At counts from the start; a time before that of the last request is moved up to it.
	At       time.Duration
	Input    int      // tokens of the prompt
	PageSize int      // tokens in a page; 0 when there are no hashes
	Pages    []uint64 // hashes of the prompt's whole pages, each over all up to its end; copied

	Conversation, Tenant string // any names, empty where unknown
	Priority             int32
}

// NewWriter writes the header. The caller closes out after the writer.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{out: bufio.NewWriter(out), most: maxHeld}
	rand.Read(w.key[:])                   // never fails
	w.cipher, _ = aes.NewCipher(w.key[:]) // fails only for keys of other sizes
	_, w.err = fmt.Fprintf(w.out, `{"troupe_trace":%d}`+"\n", Version)
	return w
}

// Begin records an arrival.
func (w *Writer) Begin(a Arrived) *Entry {
	at, input, output := float64(a.At)/float64(time.Millisecond), int64(a.Input), int64(0)
	r := &Entry{w: w, line: Line{Arrival: &at, Input: &input, Output: &output, Unfinished: true, Priority: a.Priority,
		Conversation: w.anonymous("conversation", a.Conversation), Tenant: w.anonymous("tenant", a.Tenant)}}
	if a.PageSize > 0 {
		r.line.PageSize = int64(a.PageSize)
		r.line.Pages = make(IDs, len(a.Pages))
		for i, hash := range a.Pages {
			r.line.Pages[i] = w.hide(hash)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at = max(at, w.last)
	w.last = at
	w.open = append(w.open, r)
	w.held += r.weight()
	for w.held > w.most {
		w.writeOldest()
	}
	return r
}

// End records how long the output became. It is called once.
func (r *Entry) End(output int) {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	*r.line.Output, r.line.Unfinished, r.ended = int64(output), false, true
	for len(w.open) > 0 && w.open[0].ended {
		w.writeOldest()
	}
}

// weight is what an entry holds, in page ids.
func (r *Entry) weight() int { return lineWeight + len(r.line.Pages) }

func (w *Writer) writeOldest() {
	r := w.open[0]
	w.open[0] = nil
	w.open = w.open[1:]
	w.held -= r.weight()
	if w.err == nil {
		w.err = json.NewEncoder(w.out).Encode(&r.line)
	}
}

// Flush writes out what has ended, and returns the first error so far.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// Close writes open entries as unfinished and flushes. Later ends change nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	for len(w.open) > 0 {
		w.writeOldest()
	}
	w.mu.Unlock()
	return w.Flush()
}

// hide replaces a hash by a number below 2^53 that only the key can undo.
func (w *Writer) hide(hash uint64) uint64 {
	var block [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(block[:], hash)
	w.cipher.Encrypt(block[:], block[:])
	return binary.LittleEndian.Uint64(block[:]) >> 11
}

func (w *Writer) anonymous(kind, name string) *uint64 {
	if name == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(string(w.key[:]) + kind + "\x00" + name))
	id := binary.LittleEndian.Uint64(sum[:]) >> 11
	return &id
}
