package messages

import (
	"fmt"
	"time"
)

// Snapshot is what an engine holds at one moment, between two plans: each page of the pool
// by its owner, the requests that run or were retracted, the newest steps and the prefix
// tree. It goes around the ring of owners with an audit, and each of them adds its part.
// After that it is frozen.
type Snapshot struct {
	Engine EngineID `json:"engine"`
	Epoch  Epoch    `json:"epoch"`
	// PageSize is in tokens. PageBytes is the memory of a page on the device; 0: not known.
	PageSize  int   `json:"page_size"`
	PageBytes int64 `json:"page_bytes"`
	// Pages has an owner for PerCell pages each. From another node it has MostCells at most;
	// otherwise PerCell is 0 or 1, and each page has its own.
	Pages   PageMap   `json:"pages"`
	PerCell int       `json:"pages_per_cell"`
	Count   PageCount `json:"count"` // of the pool, by owner
	Runs    int       `json:"runs"`  // that the owners have claimed: most of the snapshot's time
	// Requests run, in order of admission, or were retracted, in the order in which they
	// are admitted again.
	Requests []SnapshotRequest `json:"requests"`
	Steps    []StepShape       `json:"steps"` // the newest ones, oldest first; see StepShape
	Tree     CacheView         `json:"tree"`  // the top of the prefix tree
	// LeftOut says why Pages, Requests, Steps and Tree are missing; "" if they are here.
	LeftOut string `json:"left_out,omitempty"`
	Fault   string `json:"-"` // the first page that has two owners or none; "" if there is no such page
}

// The states of a request in a snapshot.
const (
	StatePrefill   = "prefill"
	StateDecode    = "decode"
	StateEnding    = "ending" // a step or a plan still uses its pages
	StateRetracted = "retracted"
)

// SnapshotRequest is a request that has been admitted. Its KV cache is Pages pages, of
// which the first Shared belong to the prefix tree and the others to the request. Private
// has the first of these others, and leaves out Hidden pages of them.
type SnapshotRequest struct {
	ID       RequestID `json:"id"` // 0: of another gateway
	State    string    `json:"state"`
	Prompt   int       `json:"prompt"`   // tokens
	Output   int       `json:"output"`   // tokens
	Computed int       `json:"computed"` // tokens whose KV is computed
	Cached   int       `json:"cached"`   // prompt tokens that the cache had
	Pages    int       `json:"pages"`
	Shared   int       `json:"shared"`
	Private  PageRuns  `json:"private"` // in the order of the tokens
	Hidden   int       `json:"private_hidden"`
}

// StepShape is what a step computes: one token of each decoding row, and chunks of prompts.
// An engine keeps the newest shapes for a while after a snapshot, so the first snapshot
// has none.
type StepShape struct {
	Step   StepID      `json:"step"`
	Decode int         `json:"decode"` // rows
	Chunks []StepChunk `json:"chunks"`
}

// StepChunk is a part of a prompt, or of what a retracted request computes again.
type StepChunk struct {
	ID    RequestID `json:"id"`
	Start int       `json:"start"`
	Count int       `json:"count"` // tokens
}

// Claim gives the pages of a run an owner. It notes the first page that has one already.
func (s *Snapshot) Claim(run PageRun, owner PageOwner) {
	s.Runs++
	for p := run.First; p < run.First+run.N; p++ {
		switch at := int(p) - 1; {
		case at < 0 || at >= len(s.Pages):
			s.fault("page %d is %s and not in the pool", p, owner)
		case s.Pages[at] != PageUnowned:
			s.fault("page %d is %s and %s", p, s.Pages[at], owner)
		default:
			s.Pages[at] = owner
		}
	}
}

// ClaimPages is Claim for a list of pages.
func (s *Snapshot) ClaimPages(pages []Page, owner PageOwner) {
	for len(pages) > 0 {
		run := FirstRun(pages)
		s.Claim(run, owner)
		pages = pages[run.N:]
	}
}

// Close ends the way around the owners. It checks that every page has an owner, and as many
// as the audit has counted, and bounds the runs of the requests.
func (s *Snapshot) Close(c PageCount) {
	var n [len(ownerNames)]int
	for i, owner := range s.Pages {
		if n[owner]++; owner == PageUnowned {
			s.fault("page %d has no owner", i+1)
		}
	}
	if n[PageFree] != c.Free || n[PageEvictable] != c.Evictable || n[PageProtected] != c.Protected || n[PageLeased] != c.Leased {
		s.fault("the pages are %d free, %d evictable, %d protected, %d leased; the counters of the owners differ: %+v",
			n[PageFree], n[PageEvictable], n[PageProtected], n[PageLeased], c)
	}
	s.Count = PageCount{Free: n[PageFree], Evictable: n[PageEvictable], Protected: n[PageProtected], Leased: n[PageLeased], Total: len(s.Pages)}
	s.cutRuns(MostSnapshotRuns)
}

// Cells is a short map of the pool, of at most MostCells owners, and how many pages each of
// them stands for.
func (s *Snapshot) Cells() (cells PageMap, pagesPerCell int) {
	cells, pagesPerCell = s.Pages.Shrink(MostCells)
	return cells, pagesPerCell * max(1, s.PerCell)
}

func (s *Snapshot) fault(format string, args ...any) {
	if s.Fault == "" {
		s.Fault = fmt.Sprintf(format, args...)
	}
}

// OpenRequest is a request in intake's table.
type OpenRequest struct {
	ID       RequestID     `json:"id"`
	UserID   string        `json:"user_id"` // the id of its call, as the client has chosen or got it
	Choice   int           `json:"choice"`  // of the call, from 0
	Prompt   int           `json:"prompt"`  // tokens
	Output   int           `json:"output"`  // tokens that intake has accepted
	Priority int32         `json:"priority"`
	Age      time.Duration `json:"-"` // since it arrived
	// Held: it waits for another choice of its call to compute their prompt.
	Held bool `json:"held"`
	// Ended: its client has the end, and the engine has not released it yet.
	Ended bool `json:"ended"`
}

// AskSnapshot, from a client, asks what the engine holds. The answer comes on Reply
// (capacity >= 1); nil if the engine is down.
type AskSnapshot struct{ Reply chan<- *SnapshotTaken }

// SnapshotTaken is what intake knows of the open requests together with the snapshots of
// its engines. Intake has handled all results from before the snapshots. Frozen.
type SnapshotTaken struct {
	OK      bool // the audit that came with them
	Count   PageCount
	Engines []*Snapshot
	Open    []OpenRequest // in order of arrival, at most MostOpenShown
	Hidden  int           // open requests that are not in Open
}

// MostOpenShown bounds the open requests of a snapshot.
const MostOpenShown = 1000

func (*AskSnapshot) toIntake() {}
