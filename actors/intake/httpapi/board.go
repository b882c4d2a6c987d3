package httpapi

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

const mostBoards = 16 // readers of the board at once

// board sends the same frames to all readers of /v1/board. While there is no reader, no
// frame is made and no actor is asked.
//
// Frames are made by one run at a time. It begins with the first reader and ends after the
// last one. next stays when it ends, so that readers that come and go cause no more
// snapshots than one that stays.
type board struct {
	mu      sync.Mutex
	readers map[chan []byte]struct{} // each has room for one frame, the newest; closed if the run has failed
	stop    chan struct{}            // of the run: the last reader has left; nil: there is no run
	next    time.Time                // when the next snapshot may be asked for
	painter *painter                 // of the run; the next one continues with it
}

// join adds a reader. It starts a run with the first one; nil: there are too many.
func (b *board) join(run func()) chan []byte {
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
		b.stop = make(chan struct{}, 1)
		go run()
	}
	return frames
}

// leave removes a reader. The run ends with the last one.
func (b *board) leave(frames chan []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.readers, frames); len(b.readers) == 0 && b.stop != nil {
		select {
		case b.stop <- struct{}{}:
		default:
		}
	}
}

// publish gives a frame to all readers, in place of one that a slow reader has not taken.
func (b *board) publish(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for frames := range b.readers {
		select {
		case <-frames:
		default:
		}
		frames <- frame
	}
}

// boardStream streams frames until the client disconnects, its key loses the right, or the
// server drains.
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
	alive, right := time.NewTicker(s.rules.Load().KeepAlive), time.NewTicker(rightsPeriod)
	defer alive.Stop()
	defer right.Stop()
	stream := newSSE(w)
	stream.buf.WriteString(": open\n\n") // the first frame may take a while
	for {
		if err := stream.flush(); err != nil {
			return err
		}
		select {
		case frame, runs := <-frames:
			if err := s.mayRead(r); err != nil {
				return stream.fail(err)
			}
			if !runs {
				return stream.fail(internal("the board has failed; connect again"))
			}
			frameEvent(&stream.buf, frame)
		case <-right.C:
			if err := s.mayRead(r); err != nil {
				return stream.fail(err)
			}
		case <-alive.C:
			stream.buf.WriteString(": alive\n\n")
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
