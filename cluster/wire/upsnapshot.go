package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

const (
	// mostSnapshots is how many engines a node can have (data-parallel-size). The maps of
	// their pools have messages.MostCells bytes each in memory, however short their text is.
	mostSnapshots = 64
	// mostValues bounds the objects and lists in the JSON of snapshots, since {} is much
	// longer in memory than as text.
	mostValues = 1 << 18
)

func encodeAudited(m *messages.SlotsAudited) *Audited {
	c := &m.Count
	pages := []int64{int64(c.Free), int64(c.Evictable), int64(c.Protected), int64(c.Leased), int64(c.InTransfer), int64(c.Total)}
	return &Audited{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Ok: m.OK, Pages: pages}
}

func decodeAudited(a *Audited, slot messages.EngineID) (*messages.SlotsAudited, error) {
	p := a.GetPages()
	if len(p) != 6 {
		return nil, fmt.Errorf("an audit counts %d groups of pages, not 6", len(p))
	}
	for _, n := range p {
		if n < -1<<40 || n > 1<<40 {
			return nil, fmt.Errorf("an audit counts %d pages", n)
		}
	}
	c := messages.PageCount{Free: int(p[0]), Evictable: int(p[1]), Protected: int(p[2]), Leased: int(p[3]), InTransfer: int(p[4]), Total: int(p[5])}
	return &messages.SlotsAudited{Header: header(slot, a.GetEpoch()), Ticket: messages.Ticket(a.GetTicket()), Count: c, OK: a.GetOk() && c.Balanced()}, nil
}

// EncodeSnapshot translates an audit with snapshots. A snapshot that cannot travel is left
// out; then its counts come with the reason.
func EncodeSnapshot(m *messages.SlotsAudited) (*Bulk, error) {
	list := make([][]byte, len(m.Snapshots))
	for i, s := range m.Snapshots {
		text, why := written(s, len(list))
		if why != "" {
			var err error
			if text, err = json.Marshal(&messages.Snapshot{PageSize: s.PageSize, PageBytes: s.PageBytes, Count: s.Count, Runs: s.Runs, LeftOut: why}); err != nil {
				return nil, err
			}
		}
		list[i] = text
	}
	text := slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
	return &Bulk{Body: &Bulk_Snapshot{&Snapshot{Audited: encodeAudited(m), Json: text}}}, nil
}

// written is one of several snapshots as JSON, with cells instead of the pages of a large
// pool; or why it cannot travel.
func written(s *messages.Snapshot, of int) (text []byte, why string) {
	most, values := maxBytes/of-2, mostValues/of-1 // without the brackets and commas of the list
	switch {
	case s.Fault != "":
		return nil, Clip("its audit failed: "+s.Fault, maxWhy)
	case s.Tree == nil:
		return nil, "it has no prefix tree"
	}
	own := *s
	own.Pages, own.PerCell = s.Cells()
	text, err := json.Marshal(&own)
	if err != nil {
		return nil, Clip(fmt.Sprintf("it is not JSON: %v", err), maxWhy)
	}
	if n := len(text); n > most {
		return nil, fmt.Sprintf("it has %d bytes; at most %d travel between nodes", n, most)
	}
	if n := valuesIn(text); n > values {
		return nil, fmt.Sprintf("it has %d objects and lists; at most %d travel between nodes", n, values)
	}
	return text, ""
}

// valuesIn is at least the number of objects and lists in a JSON text.
func valuesIn(text []byte) int {
	return bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
}

func decodeSnapshot(s *Snapshot, slot messages.EngineID) (*messages.SlotsAudited, error) {
	m, err := decodeAudited(s.GetAudited(), slot)
	if err != nil {
		return nil, err
	}
	list := s.GetJson()
	if len(list) == 0 {
		list = []byte(`[{"left_out":"the engine has sent none"}]`)
	}
	if n := len(list); n > maxBytes {
		return nil, fmt.Errorf("a snapshot of %d bytes is too long", n)
	}
	if n := valuesIn(list); n > mostValues {
		return nil, fmt.Errorf("a snapshot has %d objects and lists; at most %d are allowed", n, mostValues)
	}
	text := json.NewDecoder(bytes.NewReader(list))
	if start, err := text.Token(); err != nil || start != json.Delim('[') {
		return nil, fmt.Errorf("snapshots are not a JSON list")
	}
	for text.More() {
		if len(m.Snapshots) == mostSnapshots {
			return nil, fmt.Errorf("an engine has more than %d snapshots", mostSnapshots)
		}
		one := &snapshot{}
		if err := text.Decode(one); err != nil {
			return nil, fmt.Errorf("a snapshot: %w", err)
		}
		if err := one.check(); err != nil {
			return nil, fmt.Errorf("a snapshot: %w", err)
		}
		one.Engine, one.Epoch = m.Engine, m.Epoch
		one.Snapshot.Tree = &view{json: one.Tree}
		m.Snapshots = append(m.Snapshots, &one.Snapshot)
	}
	return m, nil
}

// snapshot is a snapshot whose tree another node has written.
type snapshot struct {
	messages.Snapshot
	Tree json.RawMessage `json:"tree"`
}

// check refuses a snapshot that would spoil a frame of the board or the page that shows
// it, and fills in lists that are missing.
func (s *snapshot) check() error {
	total := s.Count.Total
	s.Runs = max(0, min(s.Runs, total))
	switch {
	case total < 0 || total > math.MaxInt32:
		return fmt.Errorf("it has %d pages", total)
	case len(s.LeftOut) > maxText:
		return fmt.Errorf("the reason why it is left out has %d bytes", len(s.LeftOut))
	case s.LeftOut != "":
		s.Pages, s.PerCell, s.Requests, s.Steps = messages.PageMap{}, 1, nil, []messages.StepShape{}
		s.Tree = json.RawMessage("null")
		return nil
	case len(s.Tree) == 0 || s.Tree[0] != '{':
		return fmt.Errorf("its prefix tree is %.20q; want a JSON object", s.Tree)
	}
	if rest := len(s.Pages)*s.PerCell - total; s.PerCell < 1 || s.PerCell > max(1, total) || rest < 0 || rest >= s.PerCell {
		return fmt.Errorf("%d cells of %d pages each are not a pool of %d", len(s.Pages), s.PerCell, total)
	}
	s.Steps = append([]messages.StepShape{}, s.Steps...)
	for i := range s.Steps {
		s.Steps[i].Chunks = append([]messages.StepChunk{}, s.Steps[i].Chunks...)
	}
	for i := range s.Requests {
		r := &s.Requests[i]
		r.Private = append(messages.PageRuns{}, r.Private...)
		for _, run := range r.Private {
			if run.First < 1 || run.N < 1 || int(run.First)-1 > total-int(run.N) {
				return fmt.Errorf("request %d has %d pages from page %d on, in a pool of %d", r.ID, run.N, run.First, total)
			}
		}
	}
	return nil
}
