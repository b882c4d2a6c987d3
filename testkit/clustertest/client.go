package clustertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client sends requests to gateways.
type Client struct {
	HTTP *http.Client
	// Event, if not nil, is called for every event of a stream.
	Event func(q *Request, at time.Time)
}

// NewClient keeps connections for so many requests at a time.
func NewClient(requests int) *Client {
	return &Client{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: requests}}}
}

// errCut is the end of a connection before the end of the answer.
var errCut = errors.New("the connection ended before the answer did")

// Do sends a request to a URL and returns its whole answer.
func (c *Client) Do(ctx context.Context, url string, q *Request) (Answer, error) {
	body, err := json.Marshal(q.Body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+q.Path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := c.HTTP.Do(r)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCut, err)
	}
	defer w.Body.Close()
	if q.Stream && w.StatusCode == http.StatusOK {
		return c.follow(w.Body, q)
	}
	text, err := io.ReadAll(w.Body)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", errCut, err)
	case w.StatusCode != http.StatusOK:
		return "", &Failure{Status: w.StatusCode, Text: string(text)}
	}
	return whole(text)
}

// follow reads a stream.
func (c *Client) follow(from io.Reader, q *Request) (Answer, error) {
	s := &stream{native: q.Native}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return s.answer()
		}
		if c.Event != nil {
			c.Event(q, time.Now())
		}
		if err := s.add([]byte(data)); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %w", errCut, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

// DoAnywhere sends a request to one of the gateways, beginning with the one of a number,
// and again if that one was killed before the answer was complete: nobody else can save a
// connection of a dead process. It returns how often it was sent. A gateway that starts
// again, or is alone after its start, answers 503, so the request goes to the next one.
func (c *Client) DoAnywhere(ctx context.Context, gateways []*Node, number int, q *Request) (answer Answer, sent int, err error) {
	for ctx.Err() == nil {
		g := gateways[(number+sent)%len(gateways)]
		kills := g.Kills()
		sent++
		answer, err = c.Do(ctx, g.URL, q)
		var failure *Failure
		switch {
		case err == nil:
			return answer, sent, nil
		case errors.Is(err, errCut) && (g.Kills() > kills || !g.Alive()), errors.Is(err, errCut) && restarting(g):
		case errors.As(err, &failure) && failure.startsAgain() && g.Kills() > 0:
		default:
			return "", sent, fmt.Errorf("%s: %w", g.Name, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return "", sent, errors.Join(ctx.Err(), err)
}

// startsAgain reports whether a gateway refused a request because it has just been started.
func (f *Failure) startsAgain() bool {
	return f.Status == http.StatusServiceUnavailable &&
		(strings.Contains(f.Text, `"code":"no_engine"`) || strings.Contains(f.Text, `"code":"starting"`))
}

// restarting reports whether a gateway that was killed does not listen again yet.
func restarting(g *Node) bool { return g.Kills() > 0 && !g.Ready() }
