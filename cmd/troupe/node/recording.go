package node

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// Bounds of what waits to be written. The disk is behind by a second then.
const (
	recordedRequests = 4096
	recordedTokens   = 16 << 20
)

// recordedPage is the least page of a recording in tokens: smaller ones would
// make it as long as the prompts.
const recordedPage = 16

// flushEvery is how much of a recording a crash of the process can lose.
const flushEvery = time.Second

// Recording writes the traffic of a server into a file, as an anonymised trace.
// Requests never wait for it: one goroutine hashes and writes, and what exceeds
// its queue is counted and left out. Safe for concurrent use.
type Recording struct {
	path     string
	file     *os.File
	out      *trace.Writer
	pageSize int
	log      zerolog.Logger
	start    time.Time

	mu      sync.Mutex
	queue   []recordStep
	waiting int // beginnings in queue
	tokens  int // of prompts in queue
	written int // requests begun
	dropped int
	stopped bool // closed, or the file failed

	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}
}

// recordStep is the beginning or the end of a request.
type recordStep struct {
	at     time.Duration
	sub    *messages.Submission // of a beginning; nil for an end
	line   *recordLine
	output int // tokens, of an end
}

// recordLine is one request; written by the goroutine only.
type recordLine struct{ trace *trace.Recording }

// OpenRecording creates the file of the settings; nil when they name none. It
// refuses to overwrite.
func OpenRecording(c *configs.Config, log zerolog.Logger) (*Recording, error) {
	if c.RecordTrace == "" {
		return nil, nil
	}
	file, err := os.OpenFile(c.RecordTrace, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		err = fmt.Errorf("record-trace: %s exists already; remove it or name another file", c.RecordTrace)
		return nil, c.Explain(configs.About(err, "record-trace"))
	case err != nil:
		return nil, c.Explain(configs.About(fmt.Errorf("record-trace: %w", err), "record-trace"))
	}
	return startRecording(c.RecordTrace, file, max(c.PageSize, recordedPage), log)
}

func startRecording(path string, file *os.File, pageSize int, log zerolog.Logger) (*Recording, error) {
	out, err := trace.NewWriter(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record-trace: %w", err), file.Close())
	}
	r := &Recording{path: path, file: file, out: out, pageSize: pageSize, log: log, start: time.Now(),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go r.write()
	return r, nil
}

// Begin notes an accepted request and returns what notes its end, with the
// number of output tokens; nil when the request is left out.
func (r *Recording) Begin(sub *messages.Submission) (end func(output int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.waiting >= recordedRequests || r.tokens+len(sub.Prompt) > recordedTokens && r.waiting > 0 {
		if r.dropped++; r.dropped == 1 {
			r.log.Warn().Str("file", r.path).Msg("requests are left out of the recording: the file is not written fast enough, or not any more")
		}
		return nil
	}
	line := &recordLine{}
	r.waiting++
	r.tokens += len(sub.Prompt)
	r.written++
	r.push(recordStep{at: time.Since(r.start), sub: sub, line: line})
	return func(output int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped { // an end always has room: there are no more of them than beginnings
			r.push(recordStep{line: line, output: output})
		}
	}
}

func (r *Recording) push(s recordStep) {
	r.queue = append(r.queue, s)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (r *Recording) take() []recordStep {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps := r.queue
	r.queue, r.waiting, r.tokens = nil, 0, 0
	return steps
}

// write is the goroutine behind the queue.
func (r *Recording) write() {
	defer close(r.done)
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
			r.carryOut(r.take())
			return
		}
		r.carryOut(r.take())
	}
}

func (r *Recording) carryOut(steps []recordStep) {
	for i := range steps {
		s := &steps[i]
		if s.sub == nil {
			s.line.trace.End(s.output)
			continue
		}
		s.line.trace = r.out.Begin(trace.Arrived{
			At: s.at, Input: len(s.sub.Prompt), PageSize: r.pageSize, Pages: pageHashes(s.sub, r.pageSize),
			Tenant: s.sub.Tenant, Priority: s.sub.Priority,
		})
	}
}

// pageHashes are the names of a prompt's whole pages. The writer hides them.
func pageHashes(sub *messages.Submission, pageSize int) []uint64 {
	hashes, hash := make([]uint64, 0, len(sub.Prompt)/pageSize), radix.RootHash(sub.Namespace)
	for page := range slices.Chunk(sub.Prompt, pageSize) {
		if len(page) == pageSize {
			hash = radix.PageHash(hash, page)
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// fail ends a recording whose file cannot be written; requests go on.
func (r *Recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped = true
		r.log.Error().Err(err).Str("file", r.path).Msg("the recording of traffic has ended: its file cannot be written; requests go on")
	}
}

// Close writes what is left, requests that still run as unfinished, and says
// what was recorded. A recording of nothing leaves no file. Closing again, or a nil one, does nothing.
func (r *Recording) Close() error {
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
	if written == 0 { // a trace without requests is none, and would be in the way of the next
		err = errors.Join(err, os.Remove(r.path))
	}
	r.log.Info().Str("file", r.path).Int("requests", written).Int("left_out", dropped).Err(err).Msg("the recording of traffic has ended")
	return err
}
