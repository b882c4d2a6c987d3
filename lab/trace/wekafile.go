package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/troupe-engine/troupe/telemetry/recording"
)

// thread is the requests of one conversation, or of one agent that it started. A
// request usually repeats the one before it and adds some blocks; only these are kept.
type thread struct {
	conversation string
	subagent     bool
	blockSize    int
	seq          int    // of all threads, for a total order
	base         uint64 // added to the conversation's own block ids
	start        time.Duration
	turns        []turn
	added        []uint32 // of all turns
	blocks       []uint64 // of the turn returned last
	next         int
}

type turn struct {
	at            time.Duration // after the thread's start
	input, output int32
	kept, added   int32 // blocks kept of the turn before, and new ones
}

// due is when the thread's next request arrives.
func (t *thread) due() time.Duration { return t.start + t.turns[t.next].at }

// pop returns the next request without its line.
func (t *thread) pop() *Request {
	turn := t.turns[t.next]
	r := &Request{Arrival: t.due(), Input: int(turn.input), Output: int(turn.output),
		Conversation: t.conversation, Subagent: t.subagent}
	t.next++
	t.blocks = t.blocks[:turn.kept]
	for _, id := range t.added[:turn.added] {
		t.blocks = append(t.blocks, t.base+uint64(id))
	}
	t.added = t.added[turn.added:]
	if len(t.blocks) > 0 {
		r.Blocks, r.BlockSize = slices.Clone(t.blocks), t.blockSize
	}
	return r
}

type wekaRequest struct {
	At       *float64      `json:"t"` // s
	Type     string        `json:"type"`
	Input    *int64        `json:"in"`
	Output   *int64        `json:"out"`
	HashIDs  recording.IDs `json:"hash_ids"`
	Requests []wekaRequest `json:"requests"` // of type "subagent", times from its start
}

// parser reads a conversation request by request, so that a long text is not held.
type parser struct {
	name    string // of the file
	threads []*thread
	last    []uint32 // blocks of the thread's last turn, while it is read
	most    uint64   // one more than the highest block id
}

// parseConversation returns the threads of a file, with at least one turn
// each, and how many block ids they span.
func parseConversation(name string, content io.Reader) ([]*thread, uint64, error) {
	p := &parser{name: name}
	limited := &io.LimitedReader{R: content, N: MaxConversation + 1}
	d := json.NewDecoder(transform.NewReader(limited, encoding.UTF8Validator))
	err := p.parse(d)
	switch {
	case err == nil:
	case limited.N == 0:
		err = fmt.Errorf("the conversation is larger than %d MiB", MaxConversation>>20)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = fmt.Errorf("the file ends in the middle, at byte %d", d.InputOffset())
	case err == encoding.ErrInvalidUTF8:
		err = errors.New("the text is not UTF-8")
	}
	if err != nil {
		return nil, 0, &Error{File: name, What: worded(err).Error()}
	}
	return p.threads, p.most, nil
}

func (p *parser) parse(d *json.Decoder) error {
	var id, scope string
	var blockSize int64
	main := &thread{}
	p.threads = []*thread{main}
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "id":
			err = d.Decode(&id)
		case "hash_id_scope":
			err = d.Decode(&scope)
		case "block_size":
			err = d.Decode(&blockSize)
		case "requests":
			err = p.requests(d, main)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if err := expect(d, json.Delim('}')); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("unexpected text after the conversation, at byte %d", d.InputOffset())
	}
	switch {
	case blockSize < 1 || blockSize > recording.MaxPageSize:
		return fmt.Errorf("block_size is %d; it must be between 1 and %d", blockSize, recording.MaxPageSize)
	case scope != "" && scope != "local":
		return fmt.Errorf("hash_id_scope is %.24q, which is not supported; supported: local", scope)
	}
	return p.finish(cmp.Or(id, p.name), int(blockSize))
}

func (p *parser) requests(d *json.Decoder, main *thread) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for n := 1; d.More(); n++ {
		var r wekaRequest
		err := d.Decode(&r)
		if err == nil {
			err = p.add(main, &r)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF || err == encoding.ErrInvalidUTF8 {
			return err
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", n, worded(err))
		}
	}
	return expect(d, json.Delim(']'))
}

// add adds one request to a thread, or the thread of a subagent.
func (p *parser) add(to *thread, r *wekaRequest) error {
	if r.At == nil {
		return errors.New(`the key "t" (time) is missing`)
	}
	if !(*r.At >= 0 && *r.At <= MaxTime.Seconds()) {
		return fmt.Errorf("the time is %g s; it must be between 0 and %d days", *r.At, MaxTime/(24*time.Hour))
	}
	at := time.Duration(*r.At * float64(time.Second))
	if r.Type == "subagent" {
		agent := &thread{subagent: true, start: to.start + at}
		if agent.start > MaxTime { // agents can start agents
			return fmt.Errorf("the subagent starts more than %d days after the conversation", MaxTime/(24*time.Hour))
		}
		p.threads = append(p.threads, agent)
		last := p.last
		p.last = nil
		for i := range r.Requests {
			if err := p.add(agent, &r.Requests[i]); err != nil {
				return fmt.Errorf("request %d of the subagent: %w", i+1, err)
			}
		}
		p.last = last
		return nil
	}
	if n := len(to.turns); n > 0 && at < to.turns[n-1].at {
		return fmt.Errorf("the time goes back from %v to %v; sort the requests by time", to.turns[n-1].at, at)
	}
	switch {
	case r.Input == nil:
		return errors.New(`the key "in" (input tokens) is missing`)
	case r.Output == nil:
		return errors.New(`the key "out" (output tokens) is missing`)
	case r.HashIDs == nil:
		return errors.New("hash_ids is missing")
	}
	if err := new(Request).setLengths(*r.Input, *r.Output); err != nil {
		return err
	}
	kept := 0
	for kept < min(len(p.last), len(r.HashIDs)) && r.HashIDs[kept] == uint64(p.last[kept]) {
		kept++
	}
	p.last = p.last[:kept]
	for _, id := range r.HashIDs[kept:] {
		if id > math.MaxUint32 {
			return fmt.Errorf("block id %d is above %d", id, uint64(math.MaxUint32))
		}
		p.last, p.most = append(p.last, uint32(id)), max(p.most, id+1)
	}
	to.added = append(to.added, p.last[kept:]...)
	to.turns = append(to.turns, turn{at, int32(*r.Input), int32(*r.Output), int32(kept), int32(len(p.last) - kept)})
	return nil
}

// finish checks what needs the whole file, and names the threads.
func (p *parser) finish(id string, blockSize int) error {
	for i, t := range p.threads {
		t.conversation, t.blockSize = id, blockSize
		if t.subagent {
			t.conversation = fmt.Sprintf("%s/%d", id, i)
		}
		for n, turn := range t.turns {
			if err := checkBlocks(int(turn.kept+turn.added), int(turn.input), blockSize, false); err != nil {
				return fmt.Errorf("request %d of %s: %w", n+1, t.conversation, err)
			}
		}
	}
	p.threads = slices.DeleteFunc(p.threads, func(t *thread) bool { return len(t.turns) == 0 })
	if len(p.threads) == 0 {
		return errors.New("the conversation has no requests")
	}
	return nil
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("expected %q at byte %d, got %q", want, d.InputOffset(), got)
	}
	return nil
}
