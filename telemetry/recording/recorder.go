package recording

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

const (
	// Bounds of what waits to be written: about a second of traffic.
	maxRequests = 4096
	maxTokens   = 16 << 20
	minPage     = 16          // tokens; recordings must be shorter than prompts
	flushEvery  = time.Second // of a recording, at most this of what was written is lost if the process crashes
)

// Recorder writes a server's traffic to a file. Requests never wait: one goroutine hashes
// and writes; those beyond its queue are counted and left out. Safe for concurrent use.
type Recorder struct {
	path     string
	file     *os.File
	out      *Writer
	pageSize int
	log      zerolog.Logger
	start    time.Time

	mu      sync.Mutex
	queue   []func() // beginnings and ends of requests
	waiting int      // beginnings in queue
	tokens  int      // of prompts in queue
	written int      // requests begun
	dropped int
	stopped bool // closed, or the file failed

	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}
}

// Start writes to a file, which Close closes, with pages of at least pageSize tokens.
func Start(path string, file *os.File, pageSize int, log zerolog.Logger) *Recorder {
	r := &Recorder{path: path, file: file, out: NewWriter(file), pageSize: max(pageSize, minPage), log: log, start: time.Now(),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go r.write()
	return r
}

// Begin records an accepted request. It returns the function that records its
// end and number of output tokens, or nil when the request is left out.
func (r *Recorder) Begin(sub *messages.Submission) (end func(output int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.waiting >= maxRequests || r.tokens+len(sub.Prompt) > maxTokens && r.waiting > 0 {
		if r.dropped++; r.dropped == 1 {
			r.log.Warn().Str("file", r.path).Msg("record-trace: requests are missing from the trace, because its file cannot be written fast enough or at all")
		}
		return nil
	}
	r.waiting++
	r.tokens += len(sub.Prompt)
	r.written++
	at, entry := time.Since(r.start), (*Entry)(nil) // only the goroutine sets and reads the entry
	r.push(func() {
		entry = r.out.Begin(Arrived{
			At: at, Input: len(sub.Prompt), PageSize: r.pageSize, Pages: radix.PageHashes(sub.Namespace, sub.Prompt, r.pageSize),
			Tenant: sub.Tenant, Priority: sub.Priority,
		})
	})
	return func(output int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped { // there are at most as many ends as beginnings, so the queue stays bounded
			r.push(func() { entry.End(output) })
		}
	}
}

func (r *Recorder) push(step func()) {
	r.queue = append(r.queue, step)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (r *Recorder) take() []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps := r.queue
	r.queue, r.waiting, r.tokens = nil, 0, 0
	return steps
}

// write is the goroutine that empties the queue.
func (r *Recorder) write() {
	defer close(r.done)
	work := func() {
		for _, step := range r.take() {
			step()
		}
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
		case <-tick.C:
			if err := r.out.Flush(); err != nil {
				r.fail(err)
			}
		case <-r.quit:
			work()
			return
		}
		work()
	}
}

// fail ends a recording whose file cannot be written; requests go on.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped = true
		r.log.Error().Err(err).Str("file", r.path).Msg("record-trace: recording has stopped, because its file cannot be written; serving continues")
	}
}

// Close writes what is left, running requests as unfinished, and logs what was recorded.
// A recording without requests leaves no file. Closing again, or nil, does nothing.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return nil
	default:
	}
	close(r.quit)
	<-r.done
	r.mu.Lock()
	r.stopped = true
	written, dropped := r.written, r.dropped
	r.mu.Unlock()
	err := errors.Join(r.out.Close(), r.file.Close())
	if written == 0 { // an empty file would be in the way of the next recording
		err = errors.Join(err, os.Remove(r.path))
	}
	r.log.Info().Str("file", r.path).Int("requests", written).Int("left_out", dropped).Err(err).Msg("record-trace: recording ended because the server is stopping")
	return err
}
