package former

import "github.com/troupe-engine/troupe/messages"

func (s *sequence) describe() messages.SnapshotRequest {
	r := messages.SnapshotRequest{
		ID: s.req.ID, State: messages.StateEnding, Prompt: len(s.req.Prompt), Output: s.output(), Computed: s.done, Cached: s.cached,
		Pages: len(s.lease.Pages), Shared: s.lease.Owned,
	}
	r.Private, r.Hidden = messages.RunsOf(s.lease.Private(), messages.MostRequestRuns)
	switch s.state {
	case prefilling:
		r.State = messages.StatePrefill
	case decoding:
		r.State = messages.StateDecode
	case retracted:
		r.State = messages.StateRetracted
	}
	return r
}

const (
	shapesKept    = 64   // of the newest steps
	shapesWatched = 4096 // steps after a snapshot whose shapes are noted
)

// shapes are those of the newest steps. They are noted only for a while after a snapshot.
type shapes struct {
	left  int // steps that are still noted
	ring  []messages.StepShape
	first int // the oldest in ring
}

func (s *shapes) watch() { s.left = shapesWatched }

// note keeps the shape of a step that is launched.
func (s *shapes) note(st *launchedStep) {
	if s.left == 0 {
		return
	}
	if s.left--; s.left == 0 { // nobody looks any more
		*s = shapes{}
		return
	}
	shape := messages.StepShape{Step: st.id, Chunks: []messages.StepChunk{}}
	for i, w := range st.work {
		if !w.prefill {
			shape.Decode++
			continue
		}
		b := &st.batch.Work[i]
		shape.Chunks = append(shape.Chunks, messages.StepChunk{ID: w.seq.req.ID, Start: b.Start, Count: b.Count})
	}
	if len(s.ring) < shapesKept {
		s.ring = append(s.ring, shape)
		return
	}
	s.ring[s.first] = shape
	s.first = (s.first + 1) % shapesKept
}

func (s *shapes) list() []messages.StepShape {
	return append(append([]messages.StepShape{}, s.ring[s.first:]...), s.ring[:s.first]...)
}
