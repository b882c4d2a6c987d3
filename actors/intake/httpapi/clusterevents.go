package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

// clusterEvents streams what happens to the cluster, until the client disconnects, its key
// loses the right, or the server drains. A reader that is too slow misses events, and a gap
// event says so.
func (s *Server) clusterEvents(w http.ResponseWriter, r *http.Request) *apiError {
	query := r.URL.Query()
	if err := knownQuery(query, "after"); err != nil {
		return err
	}
	text := cmp.Or(query.Get("after"), r.Header.Get("Last-Event-ID"))
	after, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 64)
	if err != nil {
		return invalid("after", `"after" is %q; it must be the number of an event, or 0 for all events that are kept`, clip(text, 64))
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(s.serving, end)()
	if text == "" {
		if after, err = s.Cluster.Last(ctx); err != nil {
			return clusterError(r, err, "")
		}
	}
	stream, batches := newSSE(w), make(chan batch)
	go readEvents(ctx, s.Cluster, after, batches)
	alive, right := time.NewTicker(s.rules.Load().KeepAlive), time.NewTicker(rightsPeriod)
	defer alive.Stop()
	defer right.Stop()
	stream.buf.WriteString(": open\n\n") // the client sees at once that it is connected
	for {
		if err := stream.flush(); err != nil {
			return err
		}
		select {
		case b := <-batches:
			if b.err != nil {
				return stream.fail(clusterError(r, b.err, ""))
			}
			for i := range b.events {
				fmt.Fprintf(&stream.buf, "id: %d\n", b.events[i].Number)
				stream.add(&b.events[i])
			}
		case <-right.C:
			if err := s.mayRead(r); err != nil {
				return stream.fail(err)
			}
		case <-alive.C:
			stream.buf.WriteString(": alive\n\n")
		case <-ctx.Done():
			if s.serving.Err() != nil {
				return nil
			}
			return clientGone(r.Context(), nil)
		}
	}
}

// batch is what one question for events brings.
type batch struct {
	events []report.Event
	err    error
}

// readEvents asks for events until ctx ends.
func readEvents(ctx context.Context, from Cluster, after uint64, to chan<- batch) {
	for {
		var b batch
		if b.events, b.err = from.Events(ctx, after); ctx.Err() != nil {
			return
		}
		if n := len(b.events); n > 0 {
			after = b.events[n-1].Number
		}
		select {
		case to <- b:
		case <-ctx.Done():
			return
		}
		if b.err != nil {
			return
		}
	}
}
