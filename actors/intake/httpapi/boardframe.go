package httpapi

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

const (
	mostListed   = 200         // requests of a model in a frame
	snapshotWait = time.Second // for an engine; after that the frame has the snapshot before
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
	// Readings are counters, gauges and histograms, as in /server_info.
	Readings json.RawMessage `json:"readings"`
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
	LeftOut   string               `json:"left_out"`   // why a gateway did not get the rest; "" if it is here
	Pages     pageCounts           `json:"pages"`
	Cells     messages.PageMap     `json:"cells"`          // owners, see messages.PageMap
	PerCell   int                  `json:"pages_per_cell"` // 1 unless the pool is large
	Steps     []messages.StepShape `json:"steps"`
	Tree      json.RawMessage      `json:"tree"` // a messages.CacheView
	rest      time.Duration        // that the engine needs after its snapshot
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
	Private  messages.PageRuns  `json:"private"`
	Hidden   int                `json:"private_hidden"` // pages that Private leaves out
}

// painter makes frames.
type painter struct {
	server *Server
	models map[string]*sitter
	rest   time.Duration // after the newest snapshots
}

// sitter is a model of which snapshots are taken.
type sitter struct {
	engine Engine
	open   chan *messages.SnapshotTaken // the question that is open; nil: none
	last   boardModel
}

func newPainter(s *Server) *painter {
	return &painter{server: s, models: map[string]*sitter{}, rest: boardInterval}
}

// forget drops answers that have come since the last frame, which may be old.
func (p *painter) forget() {
	for _, one := range p.models {
		select {
		case <-one.open:
			one.open = nil
		default:
		}
	}
}

// sit returns the sitter of a model. A model that was replaced under its name gets another
// one: its former engine may never answer.
func (p *painter) sit(m *Served) *sitter {
	if one := p.models[m.Model.ID]; one != nil && one.engine == m.Engine {
		return one
	}
	return &sitter{engine: m.Engine, last: boardModel{Model: m.Model.ID, Engines: []boardEngine{}, Requests: []boardRequest{}}}
}

// frame asks every model for a snapshot, all at the same time, and adds what else is known.
func (p *painter) frame(ctx context.Context, seen *operatorsView) *boardFrame {
	f := &boardFrame{At: p.server.Now(), State: p.server.boardState(), Models: []boardModel{}, Actors: seen.actors, Events: seen.events}
	served := slices.DeleteFunc(slices.Clone(p.server.Models.All()), func(m *Served) bool { return m.Engine == nil })
	known := map[string]*sitter{}
	for _, m := range served {
		one := p.sit(m)
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
				one.last = p.portrait(m.Model.ID, taken)
			}
		case <-ctx.Done(): // it is not asked again before it has answered
		}
		if m.Readings != nil {
			one.last.Readings = p.part("the readings of "+m.Model.ID, m.Readings())
		}
		f.Models = append(f.Models, one.last)
	}
	p.rest = restOf(f.Models)
	return f
}

// part is a part of a frame as JSON, or null. So one that is not JSON spoils no other part.
func (p *painter) part(what string, v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		p.server.Log.Error().Err(err).Str("part", what).Msg("bug: a part of a frame of the board is not JSON; please report this")
		return json.RawMessage("null")
	}
	return text
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
