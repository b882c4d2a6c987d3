package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const (
	mostBoards    = 16 // readers of the board at once
	boardInterval = 250 * time.Millisecond
	// boardPerPage is added for each page of the KV pools, whose owners a snapshot visits:
	// that takes some nanoseconds a page, so it stays far below 1 % of an engine's time.
	boardPerPage = time.Microsecond
)

// board sends the same frames to all readers of /v1/board. While there is no reader, no
// frame is made and no actor is asked.
type board struct {
	mu      sync.Mutex
	readers map[chan []byte]struct{} // each has room for one frame, the newest
	stop    context.CancelFunc       // ends the loop that makes frames; nil: it does not run
}

// join adds a reader, and starts the loop with the first one; nil: there are too many.
func (b *board) join(start func(ctx context.Context)) chan []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.readers) >= mostBoards {
		return nil
	}
	if b.readers == nil {
		b.readers = map[chan []byte]struct{}{}
	}
	frames := make(chan []byte, 1)
	b.readers[frames] = struct{}{}
	if b.stop == nil {
		var ctx context.Context
		ctx, b.stop = context.WithCancel(context.Background())
		go start(ctx)
	}
	return frames
}

// leave removes a reader, and ends the loop with the last one.
func (b *board) leave(frames chan []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.readers, frames); len(b.readers) == 0 {
		b.stop()
		b.stop = nil
	}
}

// publish gives a frame to all readers, in place of one that a slow reader has not taken.
// A loop that has been ended publishes nothing: another one may have begun.
func (b *board) publish(ctx context.Context, frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for frames := range b.readers {
		select {
		case <-frames:
		default:
		}
		frames <- frame
	}
}

// run makes frames until nobody reads them any more.
func (s *Server) runBoard(ctx context.Context) {
	painter := newPainter(s)
	go painter.follow(ctx)
	for {
		frame := painter.frame(ctx)
		if text, err := json.Marshal(frame); err == nil {
			s.board.publish(ctx, text)
		} else {
			s.Log.Error().Err(err).Msg("bug: a frame of the board is not JSON; please report this")
		}
		wait := time.NewTimer(boardInterval + time.Duration(frame.pages())*boardPerPage)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// boardStream streams frames until the client disconnects or the server drains.
func (s *Server) boardStream(w http.ResponseWriter, r *http.Request) *apiError {
	if err := knownQuery(r.URL.Query()); err != nil {
		return err
	}
	frames := s.board.join(s.runBoard)
	if frames == nil {
		return newError(http.StatusTooManyRequests).coded("too_many_readers").retry(5).
			say("%d clients already read the board, and no more are allowed; close one of them", own(mostBoards))
	}
	defer s.board.leave(frames)
	stream := newSSE(w)
	for {
		select {
		case frame := <-frames:
			frameEvent(&stream.buf, frame)
			if err := stream.flush(); err != nil {
				return err
			}
		case <-s.serving.Done():
			return nil
		case <-r.Context().Done():
			return clientGone(r.Context(), nil)
		}
	}
}

func frameEvent(to *bytes.Buffer, frame []byte) {
	to.WriteString("data: ")
	to.Write(frame)
	to.WriteString("\n\n")
}
