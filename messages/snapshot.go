package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	PageSize  int     `json:"page_size"`
	PageBytes int64   `json:"page_bytes"`
	Pages     PageMap `json:"pages"`
	// Requests run, in order of admission, or were retracted, in the order in which they
	// are admitted again.
	Requests []SnapshotRequest `json:"requests"`
	Steps    []StepShape       `json:"steps"` // the newest ones, oldest first; see StepShape
	Tree     CacheView         `json:"tree"`  // the top of the prefix tree
	Fault    string            `json:"-"`     // the first page that has two owners or none; "" if there is no such page
}

// The states of a request in a snapshot.
const (
	StatePrefill   = "prefill"
	StateDecode    = "decode"
	StateEnding    = "ending" // a step or a plan still uses its pages
	StateRetracted = "retracted"
)

// SnapshotRequest is a request that has been admitted. Its KV cache is Pages pages, of
// which the first Shared belong to the prefix tree and the others to the request.
type SnapshotRequest struct {
	ID       RequestID `json:"id"` // 0: of another gateway
	State    string    `json:"state"`
	Prompt   int       `json:"prompt"`   // tokens
	Output   int       `json:"output"`   // tokens
	Computed int       `json:"computed"` // tokens whose KV is computed
	Cached   int       `json:"cached"`   // prompt tokens that the cache had
	Pages    int       `json:"pages"`
	Shared   int       `json:"shared"`
	Private  []PageRun `json:"private"` // in page order
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

// PageOwner says what a page of the KV pool is used for.
type PageOwner uint8

const (
	PageUnowned   PageOwner = iota // while a snapshot is made
	PageFree                       // in the allocator
	PageEvictable                  // cached, and used by no request
	PageProtected                  // cached, and used by requests
	PageLeased                     // private to a request, or given back with the next plan
)

var (
	ownerNames   = [...]string{"unowned", "free", "evictable", "protected", "leased"}
	ownerLetters = [...]byte{'u', 'f', 'e', 'p', 'l'}
)

func (o PageOwner) String() string { return ownerNames[o] }

// PageMap has the owner of page i+1 at index i. As text it is run-length encoded, a number
// and a letter for each run: 120f3l are 120 free pages and 3 leased ones.
type PageMap []PageOwner

// mostMapped bounds a map that is read from text.
const mostMapped = 1 << 24

// Claim gives the pages of a run an owner. It notes the first page that has one already.
func (s *Snapshot) Claim(run PageRun, owner PageOwner) {
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

// Close checks that every page has an owner, and as many as the audit has counted.
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
}

func (s *Snapshot) fault(format string, args ...any) {
	if s.Fault == "" {
		s.Fault = fmt.Sprintf(format, args...)
	}
}

// Shrink returns at most most cells, of which each stands for the same number of pages (the
// last one for fewer): the owner that most of them have, and of equal ones the later in the
// list of owners. It is m itself if that is short enough.
func (m PageMap) Shrink(most int) (cells PageMap, pagesPerCell int) {
	if len(m) <= most {
		return m, 1
	}
	per := (len(m) + most - 1) / most
	for part := range slices.Chunk(m, per) {
		var n [len(ownerNames)]int
		best := PageUnowned
		for _, owner := range part {
			n[owner]++
		}
		for owner, count := range n {
			if count > 0 && count >= n[best] {
				best = PageOwner(owner)
			}
		}
		cells = append(cells, best)
	}
	return cells, per
}

// MarshalText implements encoding.TextMarshaler.
func (m PageMap) MarshalText() ([]byte, error) {
	text := []byte{}
	for i := 0; i < len(m); {
		n := 1
		for i+n < len(m) && m[i+n] == m[i] {
			n++
		}
		text = append(strconv.AppendInt(text, int64(n), 10), ownerLetters[m[i]])
		i += n
	}
	return text, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *PageMap) UnmarshalText(text []byte) error {
	*m = PageMap{}
	for len(text) > 0 {
		end := bytes.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if end < 1 {
			return fmt.Errorf("a map of pages has no number before a letter, or no letter after a number")
		}
		owner := bytes.IndexByte(ownerLetters[:], text[end])
		n, err := strconv.Atoi(string(text[:end]))
		if err != nil || owner < 0 || n < 1 || n > mostMapped-len(*m) {
			return fmt.Errorf("a map of pages has the run %.20q; want a number of pages, %d in total at most, and one of the letters %s", text[:end+1], mostMapped, ownerLetters[:])
		}
		*m = append(*m, slices.Repeat(PageMap{PageOwner(owner)}, n)...)
		text = text[end+1:]
	}
	return nil
}

// MarshalJSON writes a run as the list of its first page and its length.
func (r PageRun) MarshalJSON() ([]byte, error) { return json.Marshal([2]Page{r.First, r.N}) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *PageRun) UnmarshalJSON(text []byte) error {
	var pair [2]Page
	err := json.Unmarshal(text, &pair)
	*r = PageRun{pair[0], pair[1]}
	return err
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
