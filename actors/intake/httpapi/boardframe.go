package httpapi

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

const (
	mostCells       = 32768       // of a map of pages; in a larger pool a cell stands for several pages
	mostListed      = 200         // requests of a model in a frame
	mostBoardEvents = 30          // the newest ones
	operatorsPeriod = time.Second // between two questions for actors and events, which other nodes answer, too
	snapshotWait    = time.Second // for an engine; after that the frame has the snapshot before
)

// boardFrame is what the board shows at one moment.
type boardFrame struct {
	At     time.Time      `json:"at"`
	State  string         `json:"state"` // ready, restarting, or that of report.Node while it is out of service
	Models []boardModel   `json:"models"`
	Actors []report.Actor `json:"actors"` // the paths that are known; empty on a server without supervision
	Events []report.Event `json:"events"` // the newest ones, oldest first
}

// boardModel is a model with the engines that serve it. Counts are of its requests.
type boardModel struct {
	Model   string        `json:"model"`
	Stale   bool          `json:"stale"` // the engines do not answer now: Engines and Requests are as they were
	Engines []boardEngine `json:"engines"`
	Counts  boardCounts   `json:"counts"`
	// Requests are at most mostListed: those that run, those that were retracted, and those
	// that wait, each in order.
	Requests []boardRequest `json:"requests"`
	Readings any            `json:"readings"` // counters, gauges and histograms, as in /server_info
}

type boardCounts struct {
	Running   int `json:"running"`
	Retracted int `json:"retracted"`
	Waiting   int `json:"waiting"`
	Held      int `json:"held"`   // they wait for another choice of their call
	Hidden    int `json:"hidden"` // requests that Requests leaves out
}

type boardEngine struct {
	Engine    messages.EngineID    `json:"engine"`
	Epoch     messages.Epoch       `json:"epoch"`
	PageSize  int                  `json:"page_size"`  // tokens
	PageBytes int64                `json:"page_bytes"` // 0: not known
	Pages     pageCounts           `json:"pages"`
	Cells     messages.PageMap     `json:"cells"`          // owners, see messages.PageMap
	PerCell   int                  `json:"pages_per_cell"` // 1 unless the pool is large
	Steps     []messages.StepShape `json:"steps"`
	Tree      messages.CacheView   `json:"tree"`
}

// pageCounts are the pages of a pool by owner.
type pageCounts struct {
	Total     int `json:"total"`
	Free      int `json:"free"`
	Evictable int `json:"evictable"`
	Protected int `json:"protected"`
	Leased    int `json:"leased"`
}

type boardRequest struct {
	ID       messages.RequestID `json:"id"`
	UserID   string             `json:"user_id"`
	Choice   int                `json:"choice"`
	State    string             `json:"state"` // those of messages.SnapshotRequest, waiting or held
	Priority int32              `json:"priority"`
	AgeMS    int64              `json:"age_ms"`
	Prompt   int                `json:"prompt"`
	Output   int                `json:"output"`
	Computed int                `json:"computed"`
	Cached   int                `json:"cached"`
	Engine   int                `json:"engine"` // index in Engines; -1: none
	Pages    int                `json:"pages"`
	Shared   int                `json:"shared"`
	Bytes    int64              `json:"kv_bytes"` // of Pages; 0 if PageBytes is not known
	Private  []messages.PageRun `json:"private"`
}

// painter makes frames, for one run of the board's loop.
type painter struct {
	server  *Server
	models  map[string]*sitter
	seen    atomic.Pointer[operatorsView]
	newest  uint64 // number of the newest event
	history []report.Event
}

// operatorsView is what is asked less often.
type operatorsView struct {
	actors []report.Actor
	events []report.Event
}

// sitter is a model of which snapshots are taken.
type sitter struct {
	open chan *messages.SnapshotTaken // the question that is open; nil: none
	last boardModel
}

func newPainter(s *Server) *painter { return &painter{server: s, models: map[string]*sitter{}} }

// pages is how many pages the snapshots of a frame have visited.
func (f *boardFrame) pages() (n int) {
	for i := range f.Models {
		for j := range f.Models[i].Engines {
			n += f.Models[i].Engines[j].Pages.Total
		}
	}
	return n
}

// frame asks every model for a snapshot, all at the same time, and adds what else is known.
func (p *painter) frame(ctx context.Context) *boardFrame {
	f := &boardFrame{At: p.server.Now(), State: p.server.boardState(), Models: []boardModel{}, Actors: []report.Actor{}, Events: []report.Event{}}
	served := slices.DeleteFunc(slices.Clone(p.server.Models.All()), func(m *Served) bool { return m.Engine == nil })
	known := map[string]*sitter{}
	for _, m := range served {
		one := p.models[m.Model.ID]
		if one == nil {
			one = &sitter{last: boardModel{Model: m.Model.ID, Engines: []boardEngine{}, Requests: []boardRequest{}}}
		}
		known[m.Model.ID] = one
		if one.open == nil {
			one.open = make(chan *messages.SnapshotTaken, 1)
			m.Engine.Send(&messages.AskSnapshot{Reply: one.open})
		}
	}
	p.models = known // without those that are no longer served
	ctx, end := context.WithTimeout(ctx, snapshotWait)
	defer end()
	for _, m := range served {
		one := known[m.Model.ID]
		one.last.Stale = true
		select {
		case taken := <-one.open:
			one.open = nil
			if taken != nil {
				one.last = portrait(m.Model.ID, taken)
			}
		case <-ctx.Done(): // it is not asked again before it has answered
		}
		if m.Readings != nil {
			one.last.Readings = m.Readings()
		}
		f.Models = append(f.Models, one.last)
	}
	if view := p.seen.Load(); view != nil {
		f.Actors, f.Events = view.actors, view.events
	}
	return f
}

func (s *Server) boardState() string {
	if s.Cluster != nil && s.Cluster.State() != report.Ready {
		return s.Cluster.State()
	}
	if slices.ContainsFunc(s.Models.All(), func(m *Served) bool { return m.Engine != nil && m.Engine.Ready() }) {
		return report.Ready
	}
	return report.Restarting
}

// portrait is a model as a snapshot shows it.
func portrait(name string, s *messages.SnapshotTaken) boardModel {
	m := boardModel{Model: name, Engines: make([]boardEngine, 0, len(s.Engines)), Requests: []boardRequest{}}
	admitted := map[messages.RequestID]boardRequest{}
	var ours, others, waiting []boardRequest
	for i, e := range s.Engines {
		b := boardEngine{Engine: e.Engine, Epoch: e.Epoch, PageSize: e.PageSize, PageBytes: e.PageBytes, Pages: countPages(e.Pages), Steps: e.Steps, Tree: e.Tree}
		b.Cells, b.PerCell = e.Pages.Shrink(mostCells)
		m.Engines = append(m.Engines, b)
		for _, r := range e.Requests {
			one := boardRequest{ID: r.ID, State: r.State, Prompt: r.Prompt, Output: r.Output, Computed: r.Computed, Cached: r.Cached,
				Engine: i, Pages: r.Pages, Shared: r.Shared, Bytes: int64(r.Pages) * e.PageBytes, Private: r.Private}
			switch r.State {
			case messages.StateRetracted:
				m.Counts.Retracted++
			case messages.StatePrefill, messages.StateDecode:
				m.Counts.Running++
			}
			if r.ID == 0 {
				others = append(others, one)
			} else {
				admitted[r.ID] = one
			}
		}
	}
	for _, o := range s.Open {
		r, ok := admitted[o.ID]
		if delete(admitted, o.ID); !ok {
			if o.Ended {
				continue
			}
			r = boardRequest{ID: o.ID, State: "waiting", Prompt: o.Prompt, Output: o.Output, Engine: -1}
			if o.Held {
				r.State = "held"
				m.Counts.Held++
			} else {
				m.Counts.Waiting++
			}
		}
		r.UserID, r.Choice, r.Priority, r.AgeMS = o.UserID, o.Choice, o.Priority, o.Age.Milliseconds()
		if ok {
			ours = append(ours, r)
		} else {
			waiting = append(waiting, r)
		}
	}
	for _, r := range admitted { // their clients have the end, or they came after the others in Open
		others = append(others, r)
	}
	slices.SortFunc(others, func(a, b boardRequest) int { return cmp.Compare(a.ID, b.ID) })
	all := slices.Concat(ours, others)
	slices.SortStableFunc(all, func(a, b boardRequest) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	all = append(all, waiting...)
	// Of those that Open leaves out, what the engine has not admitted waits.
	m.Counts.Waiting += max(0, s.Hidden-len(others))
	m.Counts.Hidden = max(0, len(all)-mostListed) + max(0, s.Hidden-len(others))
	m.Requests = append(m.Requests, all[:min(len(all), mostListed)]...)
	return m
}

func rank(state string) int {
	if state == messages.StateRetracted {
		return 1
	}
	return 0
}

func countPages(m messages.PageMap) pageCounts {
	c := pageCounts{Total: len(m)}
	for _, owner := range m {
		switch owner {
		case messages.PageFree:
			c.Free++
		case messages.PageEvictable:
			c.Evictable++
		case messages.PageProtected:
			c.Protected++
		case messages.PageLeased:
			c.Leased++
		}
	}
	return c
}

// follow keeps asking for the actors and the events. Nodes that do not answer delay only
// these.
func (p *painter) follow(ctx context.Context) {
	c := p.server.Cluster
	if c == nil {
		return
	}
	period := time.NewTicker(operatorsPeriod)
	defer period.Stop()
	for {
		view := &operatorsView{actors: []report.Actor{}, events: []report.Event{}}
		if list, err := c.Actors(ctx, ""); err == nil {
			view.actors = list
		}
		if last, err := c.Last(ctx); err == nil && last > p.newest {
			if list, err := c.Events(ctx, p.newest); err == nil && len(list) > 0 {
				p.newest = list[len(list)-1].Number
				p.history = append(p.history, list...)
				p.history = slices.Clone(p.history[max(0, len(p.history)-mostBoardEvents):])
			}
		}
		view.events = append(view.events, p.history...)
		p.seen.Store(view)
		select {
		case <-period.C:
		case <-ctx.Done():
			return
		}
	}
}
