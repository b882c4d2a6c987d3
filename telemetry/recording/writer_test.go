package recording

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// Two recordings cannot be compared.
func TestWriterKeys(t *testing.T) {
	var texts [2]string
	for i := range texts {
		var out bytes.Buffer
		w := NewWriter(&out)
		w.Begin(Arrived{Input: 16, PageSize: 16, Pages: []uint64{1}, Tenant: "a"}).End(1)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		texts[i] = out.String()
	}
	if texts[0] == texts[1] {
		t.Errorf("two keys write the same: %s", texts[0])
	}
}

// A request that runs very long holds back a bounded number of pages.
func TestWriterHoldsLittle(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	if w.most != maxHeld {
		t.Errorf("%d pages may be held", w.most)
	}
	w.most = 1000 + 4*lineWeight
	pages := make([]uint64, 300)
	first := w.Begin(Arrived{Input: 1})
	for n := range 4 {
		if err := w.Flush(); err != nil || strings.Contains(out.String(), "unfinished") {
			t.Fatalf("after %d requests: %.100s, %v", n, out.String(), err)
		}
		w.Begin(Arrived{Input: len(pages), PageSize: 1, Pages: pages}).End(1)
	}
	if err := w.Flush(); err != nil || w.held > w.most || !strings.Contains(out.String()[:100], `"unfinished":true`) {
		t.Fatalf("%d pages are held, %v: %.100s", w.held, err, out.String())
	}
	first.End(1) // changes nothing
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 1+5 {
		t.Errorf("%d lines, want a header and 5 requests", n)
	}
}

// The requests themselves also count: short ones have no page.
func TestWriterHoldsFewRequests(t *testing.T) {
	w := NewWriter(io.Discard)
	w.most = 1000
	w.Begin(Arrived{Input: 1})
	for range 5000 {
		w.Begin(Arrived{Input: 1, PageSize: 16}).End(1)
		if len(w.open) > w.most/lineWeight || w.held > w.most {
			t.Fatalf("%d requests are held, %d in weight", len(w.open), w.held)
		}
	}
}

type brokenDisk struct{}

func (brokenDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterTellsErrors(t *testing.T) {
	w := NewWriter(brokenDisk{})
	w.Begin(Arrived{Input: 1}).End(1)
	if err := w.Close(); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}
