package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-engine/troupe/messages"
)

var nothingSeen = newOperators(nil).seen.Load()

// The former engine of a replaced model may never answer; the new one is asked at once.
func TestTheBoardFollowsAReplacedModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := &sitterEngine{}, &sitterEngine{answer: pool(5, 1)}
		models := Serving(&Served{Model: Model{ID: "m"}, Engine: old})
		s, _ := boardOf(old, nil)
		s.Models = models
		p := newPainter(s)
		if f := p.frame(t.Context(), nothingSeen); !f.Models[0].Stale || old.asked.Load() != 1 {
			t.Errorf("%+v", f)
		}
		models.Set(&Served{Model: Model{ID: "m"}, Engine: next})
		if f := p.frame(t.Context(), nothingSeen); f.Models[0].Stale || next.asked.Load() != 1 || f.Models[0].Engines[0].Pages.Total != 5 {
			t.Errorf("%+v", f)
		}
		// With another catalogue entry of the same engine nothing begins again.
		p.models["m"].open = make(chan *messages.SnapshotTaken, 1)
		models.Set(&Served{Model: Model{ID: "m"}, Engine: next})
		if f := p.frame(t.Context(), nothingSeen); !f.Models[0].Stale || f.Models[0].Engines[0].Pages.Total != 5 || next.asked.Load() != 1 {
			t.Errorf("%+v", f)
		}
	})
}

type badView struct{}

func (badView) Text(bool) string { return "" }

func (badView) MarshalJSON() ([]byte, error) { return nil, errors.New("oops") }

// What is not JSON is null, and the rest of the frame is shown.
func TestOneBadViewSpoilsNoFrame(t *testing.T) {
	e := &sitterEngine{answer: func() *messages.SnapshotTaken {
		return &messages.SnapshotTaken{Engines: []*messages.Snapshot{{Tree: badView{}}, {Engine: 1, Tree: goodView{7}, Count: messages.PageCount{Total: 5}}}}
	}}
	s, log := boardOf(e, nil)
	s.Models.(*Models).Set(&Served{Model: Model{ID: "m"}, Engine: e, Readings: func() any { return math.NaN() }})
	text, err := json.Marshal(newPainter(s).frame(t.Context(), nothingSeen))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"tree":null`, `"tree":{"nodes":7}`, `"total":5`, `"readings":null`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	for _, want := range []string{"the prefix tree of engine 0 of m", "oops", "the readings of m"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in the log %s", want, log)
		}
	}
}

type goodView struct {
	Nodes int `json:"nodes"`
}

func (goodView) Text(bool) string { return "" }

// Requests of other gateways are none of those that this one cannot show.
func TestHiddenRequestsAreThisGatewaysOwn(t *testing.T) {
	taken := &messages.SnapshotTaken{Hidden: 500}
	for i := range 1000 {
		taken.Open = append(taken.Open, messages.OpenRequest{ID: messages.RequestID(i + 1)})
	}
	e := &messages.Snapshot{Tree: goodView{}}
	for range 300 { // of another gateway
		e.Requests = append(e.Requests, messages.SnapshotRequest{State: messages.StateDecode})
	}
	for i := range 20 { // ten of those in Open, ten of the others
		e.Requests = append(e.Requests, messages.SnapshotRequest{ID: messages.RequestID(991 + i), State: messages.StateDecode})
	}
	taken.Engines = []*messages.Snapshot{e}
	s, _ := boardOf(&sitterEngine{}, nil)
	m := newPainter(s).portrait("m", taken)
	if want := (boardCounts{Running: 320, Waiting: 1500 - 20, Hidden: 1800 - mostListed}); m.Counts != want {
		t.Errorf("the counts are %+v, want %+v", m.Counts, want)
	}
}

// The rest after a frame grows with the work of its snapshots: pages, runs and requests.
func TestTheRestGrowsWithTheWork(t *testing.T) {
	s, _ := boardOf(&sitterEngine{}, nil)
	p := newPainter(s)
	one := func(pages, runs, requests int) int64 {
		e := &messages.Snapshot{Count: messages.PageCount{Total: pages}, Runs: runs, Requests: make([]messages.SnapshotRequest, requests), Tree: goodView{}}
		return restOf([]boardModel{p.portrait("m", &messages.SnapshotTaken{Engines: []*messages.Snapshot{e, e}})}).Milliseconds()
	}
	for want, got := range map[int64]int64{250: one(0, 0, 0), 2250: one(1e6, 0, 0), 10250: one(0, 1e6, 0), 350: one(0, 0, 1000), 60000: one(1e9, 0, 0)} {
		if got != want {
			t.Errorf("the rest is %d ms, want %d", got, want)
		}
	}
}

// A frame says what is missing: an engine's snapshot that did not fit, and runs of a request.
func TestAFrameSaysWhatIsLeftOut(t *testing.T) {
	s, _ := boardOf(&sitterEngine{}, nil)
	m := newPainter(s).portrait("m", &messages.SnapshotTaken{Engines: []*messages.Snapshot{
		{LeftOut: "it has 7 bytes", Count: messages.PageCount{Leased: 4, Total: 4}, Steps: []messages.StepShape{}},
		{Engine: 1, Requests: []messages.SnapshotRequest{{Private: messages.PageRuns{{First: 3, N: 2}}, Hidden: 9}}},
	}})
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"left_out":"it has 7 bytes","pages":{"total":4,"free":0,"evictable":0,"protected":0,"leased":4},"cells":""`, `"private":[[3,2]],"private_hidden":9`, `"left_out":"",`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// In the largest and most fragmented pool, the map of a frame is 64 KiB.
func TestTheMapOfAFrameIsBounded(t *testing.T) {
	e := &messages.Snapshot{Pages: make(messages.PageMap, 1<<21), Tree: goodView{}}
	for i := range e.Pages {
		e.Pages[i] = messages.PageFree + messages.PageOwner(i*messages.MostCells/len(e.Pages)%2)
	}
	s, _ := boardOf(&sitterEngine{}, nil)
	b := newPainter(s).portrait("m", &messages.SnapshotTaken{Engines: []*messages.Snapshot{e}}).Engines[0]
	if text, err := b.Cells.MarshalText(); err != nil || len(b.Cells) != messages.MostCells || len(text) != 2*messages.MostCells || b.PerCell != 64 {
		t.Errorf("%d cells of %d pages, %d bytes: %v", len(b.Cells), b.PerCell, len(text), err)
	}
}
