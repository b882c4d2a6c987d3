package recording

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// maxHeld is how many page ids may wait for a request that runs very long: 32 MiB.
const maxHeld = 4 << 20

// lineWeight is what a request holds beside its page ids, in page ids.
const lineWeight = 32

// Writer writes the format. A line needs the length of the output, and lines are
// in order of arrival, so a request waits until all earlier ones have ended.
// When too much waits, the oldest is written as unfinished.
//
// Everything about the text or the users goes through a cipher with a key that
// is made for this writer and not kept: equal things stay equal, and nothing
// can be looked up. Safe for concurrent use.
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
	// At counts from the start of the recording. A time before that of the
	// request begun last is moved up to it.
	At       time.Duration
	Input    int // tokens of the prompt
	PageSize int // tokens in a page; 0 when there are no hashes
	// Pages are hashes of the prompt's whole pages, each over all up to its end. Copied.
	Pages []uint64
	// Conversation and Tenant are any names, empty where unknown.
	Conversation, Tenant string
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
