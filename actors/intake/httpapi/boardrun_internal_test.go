package httpapi

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

// sitterEngine is an engine that answers questions for snapshots.
type sitterEngine struct {
	asked  atomic.Int32
	answer func() *messages.SnapshotTaken // nil: it does not answer
}

func (*sitterEngine) Ready() bool { return true }

func (e *sitterEngine) Send(m messages.ToIntake) {
	e.asked.Add(1)
	if e.answer != nil {
		m.(*messages.AskSnapshot).Reply <- e.answer()
	}
}

// pool is a snapshot of pages that were claimed in a number of runs.
func pool(pages, runs int) func() *messages.SnapshotTaken {
	return func() *messages.SnapshotTaken {
		return &messages.SnapshotTaken{OK: true, Engines: []*messages.Snapshot{{Count: messages.PageCount{Free: pages, Total: pages}, Runs: runs}}}
	}
}

func boardOf(engine Engine, cluster Cluster) (*Server, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return New(Deps{Models: Serving(&Served{Model: Model{ID: "m"}, Engine: engine}), Cluster: cluster, Log: zerolog.New(log), Now: time.Now}), log
}

// A reader that connects again and again causes no more snapshots than one that stays, also
// if it leaves before the first frame.
func TestReconnectingDoesNotEvadeThePause(t *testing.T) {
	for name, c := range map[string]struct {
		engine *sitterEngine
		pause  time.Duration
	}{
		"small":      {&sitterEngine{answer: pool(100, 1)}, 250 * time.Millisecond},
		"large":      {&sitterEngine{answer: pool(1<<20, 1)}, 250*time.Millisecond + 1<<20*time.Microsecond},
		"fragmented": {&sitterEngine{answer: pool(1<<20, 1<<20)}, 250*time.Millisecond + 6<<20*time.Microsecond},
		"huge":       {&sitterEngine{answer: pool(1<<30, 1<<30)}, time.Minute},
		"silent":     {&sitterEngine{}, time.Hour}, // it is not asked again before it answers
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := boardOf(c.engine, nil)
				began := time.Now()
				for i := 0; time.Since(began) < 2*time.Minute; i++ {
					frames := s.board.join(s.runBoard)
					if time.Sleep(30 * time.Millisecond); i%100 == 0 {
						<-frames
					}
					s.board.leave(frames)
					synctest.Wait()
				}
				time.Sleep(snapshotWait)
				synctest.Wait() // the last run has ended
				asked, most := int(c.engine.asked.Load()), int(time.Since(began)/c.pause)+1
				if asked > most || asked < most*9/10 {
					t.Errorf("%d snapshots, want %d", asked, most)
				}
			})
		})
	}
}

// An answer that came while nobody read is old.
func TestTheBoardDropsOldAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &sitterEngine{}
		s, _ := boardOf(e, nil)
		frames := s.board.join(s.runBoard)
		<-frames
		s.board.leave(frames)
		synctest.Wait()
		s.board.painter.models["m"].open <- &messages.SnapshotTaken{Engines: []*messages.Snapshot{{Epoch: 3}}}
		time.Sleep(time.Hour)
		e.answer = func() *messages.SnapshotTaken {
			return &messages.SnapshotTaken{Engines: []*messages.Snapshot{{Epoch: 4}}}
		}
		frames = s.board.join(s.runBoard)
		if frame := string(<-frames); !strings.Contains(frame, `"epoch":4,`) {
			t.Errorf("the frame is %s", frame)
		}
		s.board.leave(frames)
	})
}

type panickingCluster struct {
	Cluster
	calls atomic.Int32
}

func (*panickingCluster) State() string { return report.Ready }

func (c *panickingCluster) Actors(ctx context.Context, _ string) ([]report.Actor, error) {
	if c.calls.Add(1) == 1 {
		panic("injected")
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*panickingCluster) Last(ctx context.Context) (uint64, error) { return 0, ctx.Err() }

// A panic ends the streams of the board and nothing else. The next reader starts it again.
func TestAPanicEndsOneRunOfTheBoard(t *testing.T) {
	answers := atomic.Int32{}
	for name, c := range map[string]struct {
		engine  *sitterEngine
		cluster Cluster
		where   string
	}{
		"frames": {&sitterEngine{answer: func() *messages.SnapshotTaken {
			if answers.Add(1) == 1 {
				panic("injected")
			}
			return pool(5, 1)()
		}}, nil, "(*painter).frame"},
		"operators": {&sitterEngine{answer: pool(5, 1)}, &panickingCluster{}, "(*operators).follow"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, log := boardOf(c.engine, c.cluster)
				readers := []chan []byte{s.board.join(s.runBoard), s.board.join(s.runBoard)}
				for _, frames := range readers {
					for range frames { // until it is closed
					}
					s.board.leave(frames)
				}
				synctest.Wait()
				if text := log.String(); strings.Count(text, "bug in the server: the board panicked") != 1 || !strings.Contains(text, c.where) {
					t.Errorf("the log is %s", text)
				}
				frames, began := s.board.join(s.runBoard), time.Now()
				if frame := string(<-frames); !strings.Contains(frame, `"total":5`) || time.Since(began) > 2*boardInterval {
					t.Errorf("after %v: %s", time.Since(began), frame)
				}
				s.board.leave(frames)
			})
		})
	}
}
