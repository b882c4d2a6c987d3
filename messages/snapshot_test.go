package messages

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryPageHasOneOwner(t *testing.T) {
	two := PageCount{Free: 1, Leased: 1, Total: 2}
	for want, claim := range map[string]func(s *Snapshot){
		"":                            func(s *Snapshot) { s.ClaimPages([]Page{2}, PageLeased) },
		"page 1 is free and leased":   func(s *Snapshot) { s.ClaimPages([]Page{1, 2}, PageLeased) },
		"page 2 has no owner":         func(*Snapshot) {},
		"page 3 is leased and not in": func(s *Snapshot) { s.ClaimPages([]Page{2, 3}, PageLeased) },
		"page 0 is leased and not in": func(s *Snapshot) { s.ClaimPages([]Page{2, 0}, PageLeased) },
		"the counters of the owners":  func(s *Snapshot) { s.ClaimPages([]Page{2}, PageEvictable) },
	} {
		s := &Snapshot{Pages: make(PageMap, 2)}
		s.Claim(PageRun{1, 1}, PageFree)
		claim(s)
		if s.Close(two); !strings.Contains(s.Fault, want) || want == "" && s.Fault != "" {
			t.Errorf("%q, want %q", s.Fault, want)
		}
	}
}

// Close counts the pages, bounds the runs of all requests together, and says how many pages
// it leaves out. Without too many runs it leaves all.
func TestTheRunsOfASnapshotAreBounded(t *testing.T) {
	pages := []Page{}
	for p := Page(1); p < 4*MostRequestRuns; p += 2 { // no two are neighbours
		pages = append(pages, p)
	}
	runs, hidden := RunsOf(pages, MostRequestRuns)
	if len(runs) != MostRequestRuns || hidden != len(pages)-MostRequestRuns || runs[1] != (PageRun{3, 1}) {
		t.Fatalf("%d runs, %d hidden pages, %v", len(runs), hidden, runs[1])
	}
	s := &Snapshot{Pages: PageMap{PageFree, PageLeased, PageLeased}}
	for range MostSnapshotRuns / MostRequestRuns {
		s.Requests = append(s.Requests, SnapshotRequest{Private: slices.Clone(runs), Hidden: hidden})
	}
	s.Close(PageCount{Free: 1, Leased: 2, Total: 3})
	if s.Fault != "" || s.Count != (PageCount{Free: 1, Leased: 2, Total: 3}) || len(s.Requests[0].Private) != MostRequestRuns {
		t.Fatalf("%q, %+v, %d runs", s.Fault, s.Count, len(s.Requests[0].Private))
	}
	s.Requests = append(s.Requests, SnapshotRequest{Private: PageRuns{{1, 9}}})
	s.Close(s.Count)
	total, pagesOf := 0, 0
	for _, r := range s.Requests {
		total, pagesOf = total+len(r.Private), r.Private.pages()+r.Hidden
	}
	if first := s.Requests[0]; total > MostSnapshotRuns || total < MostSnapshotRuns/2 || len(first.Private)+first.Hidden != len(pages) || pagesOf != 9 {
		t.Errorf("%d runs; the first request has %d and hides %d pages of %d", total, len(first.Private), first.Hidden, len(pages))
	}
}

// A snapshot counts the runs that were claimed, however long they are.
func TestASnapshotCountsItsWork(t *testing.T) {
	s := &Snapshot{Pages: make(PageMap, 9)}
	s.Claim(PageRun{1, 5}, PageFree)
	s.ClaimPages([]Page{6, 8, 7, 9}, PageLeased)
	if s.Runs != 5 {
		t.Errorf("%d runs", s.Runs)
	}
}

func TestCellsOfALargePool(t *testing.T) {
	s := &Snapshot{Pages: make(PageMap, 3*MostCells)}
	cells, per := s.Cells()
	if len(cells) != MostCells || per != 3 {
		t.Errorf("%d cells of %d pages", len(cells), per)
	}
	s.Pages, s.PerCell = cells, per // as it comes from another node
	if again, per := s.Cells(); len(again) != MostCells || per != 3 {
		t.Errorf("%d cells of %d pages", len(again), per)
	}
}
