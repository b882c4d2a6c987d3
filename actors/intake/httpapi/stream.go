package httpapi

import "net/http"

// stream are the parameters of a streamed answer.
type stream struct {
	Stream        *bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage       *bool `json:"include_usage"`
		IncludeObfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
}

func (s *stream) on() bool { return given(s.Stream, false) }

func (s *stream) check() *apiError {
	switch {
	case s.StreamOptions == nil:
		return nil
	case !s.on():
		return invalid("stream_options", "stream_options requires stream: true; set it, or leave stream_options out")
	}
	return nil
}

// stream writes a call to its end, which the API's end mark follows.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, c *call, a answer) *apiError {
	defer c.close()
	events := newSSE(w)
	c.silence = &silence{events: events, period: s.rulesFor(r.Context()).KeepAlive, over: make(chan struct{}, 1)}
	defer c.silence.stop()
	for {
		out, err := c.next(r.Context())
		if err != nil {
			return events.fail(err)
		}
		if out == nil {
			break
		}
		a.events(events, out)
		if len(c.events) > 0 && events.buf.Len() < flushBytes {
			continue // one write for all that is ready
		}
		if err := events.flush(); err != nil {
			return err
		}
		c.silence.begin()
	}
	a.last(events)
	events.buf.WriteString("data: [DONE]\n\n")
	return events.flush()
}
