package clustertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Rest is what a process uses when nobody asks it anything.
type Rest struct {
	Goroutines float64
	Heap       float64 // bytes that are alive, after a collection
}

// AtRest waits until no request of a node is open, empties its caches and measures it. It
// fails the test if the node's pages are not where they belong.
func (n *Node) AtRest() Rest {
	n.t.Helper()
	Eventually(n.t, "no request of "+n.Name+" is open", patience, func() bool {
		_, text := n.Get("/metrics")
		return metric(text, "troupe_num_open_reqs") <= 0 && metric(text, "troupe_num_running_reqs") <= 0 && metric(text, "troupe_num_queue_reqs") <= 0 && text != ""
	})
	if !n.Gateway {
		status, text := 0, ""
		for end := time.Now().Add(patience); status != http.StatusOK; <-time.After(20 * time.Millisecond) {
			if status, text = n.Post("/flush_cache", "{}"); time.Now().After(end) {
				n.t.Fatalf("the cache of %s cannot be emptied: %d %s", n.Name, status, text)
			}
		}
		n.balanced()
	}
	var rest Rest
	for range 5 { // connections take a moment to close
		status, text := ask(http.MethodGet, n.Admin+"/debug/pprof/heap?gc=1", "")
		if status != http.StatusOK {
			n.t.Fatalf("%s: the profiler answers %d: %s", n.Name, status, text)
		}
		_, text = n.Get("/metrics")
		now := Rest{metric(text, "go_goroutines"), metric(text, "go_memstats_heap_alloc_bytes")}
		if rest.Goroutines == 0 || now.Goroutines < rest.Goroutines {
			rest.Goroutines = now.Goroutines
		}
		if rest.Heap == 0 || now.Heap < rest.Heap {
			rest.Heap = now.Heap
		}
		<-time.After(100 * time.Millisecond)
	}
	return rest
}

// balanced checks that every page has one owner and that none is leased.
func (n *Node) balanced() {
	n.t.Helper()
	status, text := n.Get("/debug/audit")
	var audit struct {
		OK                             bool
		Free, Evictable, Leased, Total int
		InTransfer                     int `json:"in_transfer"`
	}
	if err := json.Unmarshal([]byte(text), &audit); status != http.StatusOK || err != nil {
		n.t.Errorf("%s: the audit answers %d %s", n.Name, status, text)
		return
	}
	if !audit.OK || audit.Leased != 0 || audit.InTransfer != 0 || audit.Free != audit.Total {
		n.t.Errorf("%s: pages are missing: %s", n.Name, text)
	}
	if failed := n.Metric("troupe_num_failed_audits_total"); failed != 0 {
		n.t.Errorf("%s: %v audits have failed", n.Name, failed)
	}
}

// Exceeds reports in what a process uses more than another measurement, with some slack for
// buffers that have grown and connections that are still open; "" if in nothing.
func (r Rest) Exceeds(base Rest) string {
	var why []string
	if r.Goroutines > base.Goroutines+10 {
		why = append(why, fmt.Sprintf("%v goroutines, %v before", r.Goroutines, base.Goroutines))
	}
	if r.Heap > 1.3*base.Heap+4<<20 {
		why = append(why, fmt.Sprintf("%.1f MiB of live heap, %.1f MiB before", r.Heap/(1<<20), base.Heap/(1<<20)))
	}
	return strings.Join(why, "; ")
}

// Goroutines are the stacks of a node, for people.
func (n *Node) Goroutines() string {
	w, err := questions.Get(n.Admin + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return err.Error()
	}
	defer w.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(w.Body, 64<<10))
	return string(text)
}
