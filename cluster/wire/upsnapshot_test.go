package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// audited is a passed audit of a pool with snapshots.
func audited(snapshots ...*messages.Snapshot) *messages.SlotsAudited {
	m := &messages.SlotsAudited{Header: messages.Header{Epoch: 3}, Ticket: 9, OK: true, Snapshots: snapshots}
	for _, s := range snapshots {
		m.Count.Free, m.Count.Total = m.Count.Free+len(s.Pages), m.Count.Total+len(s.Pages)
		s.Count = messages.PageCount{Free: len(s.Pages), Total: len(s.Pages)}
	}
	return m
}

func sent(t testing.TB, m *messages.SlotsAudited) *messages.SlotsAudited {
	t.Helper()
	b, err := EncodeSnapshot(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeUpBulk(over(t, b, &Bulk{}), slot)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*messages.SlotsAudited)
}

// A snapshot arrives as it was, with the tree as JSON and the slot as its engine.
func TestSnapshotsRoundTrip(t *testing.T) {
	one := &messages.Snapshot{
		Engine: 9, Epoch: 3, Pages: messages.PageMap{messages.PageFree, messages.PageFree, messages.PageLeased}, Runs: 2,
		Requests: []messages.SnapshotRequest{{ID: 1 << 60, State: messages.StateDecode, Prompt: 7, Private: messages.PageRuns{{First: 3, N: 1}}, Hidden: 8}},
		Steps:    []messages.StepShape{{Step: 4, Decode: 1, Chunks: []messages.StepChunk{{ID: 1, Start: 2, Count: 3}}}}, Tree: drawing{5},
	}
	m := audited(one)
	got := sent(t, m)
	tree, err := json.Marshal(got.Snapshots[0].Tree)
	if err != nil || string(tree) != `{"Nodes":5}` {
		t.Errorf("the tree is %s (%v)", tree, err)
	}
	one.Engine, one.PerCell, one.Tree, got.Snapshots[0].Tree = slot, 1, nil, nil
	m.Header.Engine = slot
	same(t, got, m, nil)
}

// Of a pool with any number of pages a map of cells travels.
func TestSnapshotsOfLargePools(t *testing.T) {
	pool := make(messages.PageMap, 1<<24+1)
	for i := range pool {
		pool[i] = messages.PageFree
	}
	got := sent(t, audited(&messages.Snapshot{Pages: pool, Tree: drawing{5}})).Snapshots[0]
	cells, per := got.Cells()
	if len(cells) > messages.MostCells || per != 513 || cells[0] != messages.PageFree || got.Count.Total != len(pool) || got.LeftOut != "" {
		t.Errorf("%d cells of %d pages, %+v, %q", len(cells), per, got.Count, got.LeftOut)
	}
}

type brokenView struct{ drawing }

func (brokenView) MarshalJSON() ([]byte, error) { return nil, errors.New("oops") }

type longView struct{ drawing }

func (longView) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"text": strings.Repeat("x", maxBytes)})
}

type richView struct{ drawing }

func (richView) MarshalJSON() ([]byte, error) {
	return []byte(`{"lists":[` + strings.Repeat("[],", mostValues) + `[]]}`), nil
}

// What cannot travel is left out with a reason. The other snapshots of the node, and the
// counts, arrive.
func TestASnapshotThatCannotTravelIsLeftOut(t *testing.T) {
	for want, bad := range map[string]*messages.Snapshot{
		"it has no prefix tree":           {},
		"it is not JSON: ":                {Tree: brokenView{}},
		"bytes; at most 8388606 travel":   {Tree: longView{}},
		"262152 objects and lists; at":    {Tree: richView{}},
		"its audit failed: page 3 is two": {Tree: drawing{}, Fault: "page 3 is two"},
	} {
		bad.Pages, bad.Runs = messages.PageMap{messages.PageFree, messages.PageFree}, 1
		bad.Requests = []messages.SnapshotRequest{{ID: 4}}
		m := audited(bad, &messages.Snapshot{Pages: messages.PageMap{messages.PageFree}, Tree: drawing{5}})
		got := sent(t, m).Snapshots
		if out := got[0]; !strings.Contains(out.LeftOut, want) || out.Count != bad.Count || out.Runs != 1 || len(out.Pages)+len(out.Requests) > 0 {
			t.Errorf("%q: %+v", want, out)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%q: %v", want, err)
		}
		if len(got) != 2 || got[1].LeftOut != "" || len(got[1].Pages) != 1 {
			t.Errorf("%q: the other one is %+v", want, got[1])
		}
	}
}

func of(json string) *Bulk {
	return &Bulk{Body: &Bulk_Snapshot{&Snapshot{Audited: &Audited{Pages: []int64{3, 0, 0, 0, 0, 3}}, Json: []byte(json)}}}
}

func TestBadSnapshotsAreRefused(t *testing.T) {
	const good = `"pages":"3f","pages_per_cell":1,"count":{"total":3}`
	for want, json := range map[string]string{
		"snapshots are not a JSON list":   "{}",
		"a snapshot: ":                    `[{"pages":"3"}]`,
		`prefix tree is ""`:               `[{` + good + `}]`,
		`prefix tree is "null"`:           `[{` + good + `,"tree":null}]`,
		`prefix tree is "5"`:              `[{` + good + `,"tree":5}]`,
		"3 cells of 2 pages each":         `[{"pages":"3f","pages_per_cell":2,"count":{"total":3},"tree":{}}]`,
		"0 cells of 0 pages each":         `[{"tree":{}}]`,
		"1 cells of 9223372036854775807":  `[{"pages":"1f","pages_per_cell":9223372036854775807,"count":{"total":3},"tree":{}}]`,
		"it has -1 pages":                 `[{"count":{"total":-1},"left_out":"x"}]`,
		"it has 2147483648 pages":         `[{"count":{"total":2147483648},"left_out":"x"}]`,
		"left out has 65537 bytes":        `[{"left_out":"` + strings.Repeat("x", 65537) + `"}]`,
		"request 7 has 2 pages from":      `[{` + good + `,"tree":{},"requests":[{"id":7,"private":[[3,2]]}]}]`,
		"2147483639 pages from page 2147": `[{` + good + `,"tree":{},"requests":[{"id":7,"private":[[2147483639,2147483639]]}]}]`,
		"1 pages from page 0 on":          `[{` + good + `,"tree":{},"requests":[{"id":7,"private":[[0,1]]}]}]`,
		"of 16777217 bytes is too long":   string(make([]byte, maxBytes+1)),
	} {
		refused(t, want, func() (any, error) { return DecodeUpBulk(of(json), slot) })
	}
	refused(t, "an audit counts 0 groups", func() (any, error) { return DecodeUpBulk(&Bulk{Body: &Bulk_Snapshot{&Snapshot{}}}, slot) })
}

// Without any text the reader sees that something is missing.
func TestNoSnapshotsAreOneThatIsLeftOut(t *testing.T) {
	m, err := DecodeUpBulk(of(""), slot)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.(*messages.SlotsAudited).Snapshots; len(s) != 1 || s[0].Engine != slot || s[0].LeftOut != "the engine has sent none" {
		t.Errorf("%+v", s)
	}
}

// Lists of a snapshot are never null, because the page reads them.
func TestMissingListsOfASnapshotAreEmpty(t *testing.T) {
	m, err := DecodeUpBulk(of(`[{"tree":{},"pages_per_cell":1,"steps":[{}],"requests":[{}]},{"left_out":"x","pages":"3f","steps":[{}],"requests":[{}]}]`), slot)
	if err != nil {
		t.Fatal(err)
	}
	s := m.(*messages.SlotsAudited).Snapshots
	if s[0].Steps[0].Chunks == nil || s[0].Requests[0].Private == nil || s[1].Steps == nil || len(s[1].Pages)+len(s[1].Requests)+len(s[1].Steps) > 0 {
		t.Errorf("%+v, %+v", s[0], s[1])
	}
}

// A short text does not take much memory, whatever it says.
func TestSnapshotsAreNoBombs(t *testing.T) {
	many := func(one string, n int) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	pool := func(n int) string {
		return fmt.Sprintf(`{"pages":"%df","pages_per_cell":1,"count":{"total":%d},"tree":{}}`, n, n)
	}
	for want, json := range map[string]string{
		"the run \"32769f\"":           many(pool(messages.MostCells+1), 1),
		"more than 64 snapshots":       many(pool(messages.MostCells), 65),
		"262146 objects and lists":     `[{"requests":` + many("{}", mostValues-1) + `}]`,
		"262147 objects and lists; at": `[{"requests":[{"private":` + many("[]", mostValues-2) + `}]}]`,
	} {
		refused(t, want, func() (any, error) { return DecodeUpBulk(of(json), slot) })
	}
	// The worst that is allowed.
	for name, json := range map[string]string{
		"maps":     many(pool(messages.MostCells), 64),
		"requests": `[{"pages_per_cell":1,"tree":{},"requests":` + many("{}", mostValues-5) + `}]`,
	} {
		b := of(json)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := DecodeUpBulk(b, slot)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
			t.Errorf("%s: %d bytes become %d MiB", name, len(json), grown>>20)
		}
		runtime.KeepAlive(m)
	}
}
