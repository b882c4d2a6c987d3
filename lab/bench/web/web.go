// Package web does the tests of package bench over HTTP, as so many clients that
// stream would: all that a server does for them is in the figures, and what the
// clients themselves take of the machine.
package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/lab/bench"
)

// Options are what clients need to know.
type Options struct {
	URL string // of a server that has no other clients
	// Base is what stands in a sequence's cache before a test.
	Base func(sequence, tokens int) []int32
	// Fatal has the reason when the engine gives up.
	Fatal <-chan error
	// Probe, if not nil, begins to measure how late idle actors are; stop ends
	// that and gives what was measured.
	Probe func() (stop func() []bench.Delay)
}

// Clients is a bench.Subject. It generates; prompts are measured closer to the
// engine.
type Clients struct {
	opt  Options
	http http.Client
}

// New makes clients of a server that answers already.
func New(o Options) *Clients {
	return &Clients{opt: o, http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 14}}}
}

// Prepare implements bench.Subject.
func (c *Clients) Prepare(ctx context.Context, t bench.Test) error {
	if t.Depth == 0 {
		return nil
	}
	// One more at the end: a prompt enters the prefix cache with the plan after
	// it at the latest.
	for i := range t.Batch + 1 {
		if err := c.stream(ctx, c.opt.Base(i, t.Depth), 1, func() {}); err != nil {
			return err
		}
	}
	return nil
}

// event is what the stream of a client brings.
type event struct {
	client int
	over   bool
	err    error
}

// spare is how many tokens a client asks for beyond those that are timed: what
// comes before all clients have begun.
const spare = 8

// Once implements bench.Subject. It is timed from when every client has text to
// the last text before one of them ends. A token may bring no text: of each
// client's tokens the share counts that its texts in that time have of all its
// texts.
func (c *Clients) Once(ctx context.Context, t bench.Test, _ int) (s bench.Sample, err error) {
	if t.Prompt > 0 {
		return s, errors.New("clients over HTTP measure generating only; give --prompt 0")
	}
	if c.opt.Probe != nil {
		stop := c.opt.Probe()
		defer func() { s.Delays = stop() }()
	}
	ctx, cancel := context.WithCancel(ctx)
	events, asked := make(chan event, 64*t.Batch), t.Generate+spare
	for i := range t.Batch {
		go func() {
			err := c.stream(ctx, c.opt.Base(i, max(t.Depth, 1)), asked, func() { events <- event{client: i} })
			events <- event{i, true, err}
		}()
	}
	all, timed := make([]int, t.Batch), make([]int, t.Batch) // texts by client
	begun, fatal := 0, c.opt.Fatal
	var start, last time.Time
	for open := t.Batch; open > 0; {
		select {
		case reason := <-fatal:
			fatal, err = nil, reason
			cancel()
		case e := <-events:
			switch {
			case !e.over:
				if all[e.client]++; all[e.client] == 1 {
					if begun++; begun == t.Batch {
						start = time.Now()
						continue
					}
				}
				if begun == t.Batch && open == t.Batch {
					timed[e.client]++
					last = time.Now()
				}
			case e.err != nil && err == nil:
				err = e.err
				cancel() // and wait for the others
				open--
			default:
				open--
			}
		}
	}
	cancel()
	if err == nil && last.IsZero() {
		err = errors.New("a client's answer ended before all had begun: they do not run at once, or are too quick for clients; raise --max-running-requests or --generate, or lower --batch")
	}
	if err != nil {
		return s, err
	}
	tokens := 0.0
	for i := range all {
		tokens += float64(asked) * float64(timed[i]) / float64(all[i])
	}
	s.Took, s.Tokens = last.Sub(start), int(math.Round(tokens))
	s.Steps = (s.Tokens + t.Batch/2) / t.Batch
	// Each had a token, at least, and sees its own position.
	n, first := int64(s.Steps), int64(max(t.Depth, 1)+1)
	s.Positions = int64(t.Batch) * (n*first + n*(n-1)/2)
	return s, nil
}

// stream asks for tokens behind a prompt and tells of every event that brings
// text.
func (c *Clients) stream(ctx context.Context, prompt []int32, tokens int, text func()) error {
	body, err := json.Marshal(map[string]any{
		"model": "", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": true, "stream": true, "seed": 1,
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.opt.URL+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
		return fmt.Errorf("POST %s: %s: %s", req.URL, answer.Status, reason)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: {")); is && !bytes.Contains(data, []byte(`"text":""`)) {
			text()
		}
	}
	return lines.Err()
}
