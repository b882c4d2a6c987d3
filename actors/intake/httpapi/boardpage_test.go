package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/chromedp"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// On the page, too, the numbers are those of the metrics while 64 clients run.
func TestTheBoardInABrowser(t *testing.T) {
	s := crowd(t)
	b := openBrowser(t, s.URL)
	eval[any](b, `location.hash = "#board"; null`)
	for step := range 3 {
		if step > 0 {
			s.Step(t)
		}
		s.Audit(t) // it comes after the plan of the next step, which changes the metrics
		want := metricsOf(t, s)
		// Numbers have separators. A frame from before the step may still be shown.
		shown := func(selector string) string {
			return fmt.Sprintf(`Number(document.querySelector(%q)?.textContent.replaceAll(",", "") || -1)`, selector)
		}
		var all []string
		for selector, name := range map[string]string{
			"#tile-running": "num_running_reqs", "#tile-waiting": "num_queue_reqs", "#tile-retracted": "num_retracted_reqs",
			"[data-owner=free]": "kv_pages_free", "[data-owner=evictable]": "kv_pages_evictable", "[data-owner=protected]": "kv_pages_protected", "[data-owner=leased]": "kv_pages_leased",
		} {
			all = append(all, shown(selector)+" === "+strconv.FormatFloat(want["troupe_"+name], 'f', -1, 64))
		}
		b.until(strings.Join(all, " && "))
	}
	if n := eval[int](b, `document.querySelectorAll("#requests tr").length`); n != 64 {
		t.Errorf("%d requests are shown", n)
	}
	// The drawing has the colours of all owners that have pages.
	colours := eval[int](b, `(() => {
		const c = document.querySelector("#pools canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d.slice(i, i + 3).join());
		return seen.size;
	})()`)
	if colours != 3 { // nothing is evictable while all prefixes are in use
		t.Errorf("the pool is drawn in %d colours", colours)
	}
	// A request's pages are marked with the keyboard.
	eval[any](b, `document.querySelector("#requests tr").focus(); null`)
	b.run(chromedp.KeyEvent("\r"))
	b.until(`document.querySelectorAll("#requests tr.marked").length === 1`)
	eval[any](b, `document.querySelector("#tree-part summary").click(); null`)
	b.until(`document.querySelectorAll("#tree tr").length > 8`)
	if n := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); n > 0 {
		t.Errorf("the page is %d pixels too wide", n)
	}
	pictures(b, "board")
	// Leaving the board ends its stream.
	eval[any](b, `location.hash = "#chat"; null`)
	b.until(`document.querySelector("#board").hidden`)
	waitForNoReader(t, s)
}

// boardEngine answers questions for snapshots.
type boardEngine struct {
	answer func() *messages.SnapshotTaken
}

func (boardEngine) Ready() bool { return true }

func (e *boardEngine) Send(m messages.ToIntake) {
	if ask, ok := m.(*messages.AskSnapshot); ok {
		ask.Reply <- e.answer()
	}
}

// The page says what frames leave out, and why its stream has ended.
func TestTheBoardSaysWhatIsMissing(t *testing.T) {
	var broken atomic.Bool
	engine := &boardEngine{func() *messages.SnapshotTaken {
		if broken.CompareAndSwap(true, false) {
			panic("injected")
		}
		pages := messages.PageCount{Free: 96, Leased: 4, Total: 100}
		return &messages.SnapshotTaken{
			Engines: []*messages.Snapshot{
				{Count: pages, Pages: messages.PageMap{messages.PageFree, messages.PageLeased}, PerCell: 50, Requests: []messages.SnapshotRequest{
					{ID: 7, State: messages.StateDecode, Pages: 1000, Private: messages.PageRuns{{First: 51, N: 2}}, Hidden: 998}}},
				{Engine: 3, Count: pages, LeftOut: "it has 7 bytes", Steps: []messages.StepShape{}},
			},
			Open: []messages.OpenRequest{{ID: 7, UserID: "seven"}},
		}
	}}
	s := adapter(t, httpapi.Deps{Models: httpapi.Serving(&httpapi.Served{Model: httpapi.Model{ID: "alpha"}, Engine: engine})})
	b := openBrowser(t, s.URL)
	eval[any](b, `location.hash = "#board"; null`)
	b.until(`document.querySelector("#board-status").textContent === "The snapshot of engine 3 is left out: it has 7 bytes. Its requests count as waiting."`)
	b.until(`document.querySelectorAll("#requests tr").length === 1`)
	eval[any](b, `document.querySelector("#requests tr").click(); null`)
	b.until(`document.querySelector("#requests-more").textContent.startsWith("998 of the request's own pages are not marked")`)
	broken.Store(true)
	b.until(`document.querySelector("#board-status").textContent.includes("the board has failed; connect again")`)
	b.until(`document.querySelector("#board-status").textContent.includes("engine 3")`)
}

// With the board open and 200 tokens a second, the page's heap is after minutes what it was
// after the first one: ten minutes with TROUPE_SOAK, otherwise a few seconds, which find
// what grows with each frame by a lot.
func TestTheBoardsHeapStays(t *testing.T) {
	warm, rest := 3*time.Second, 4*time.Second
	if os.Getenv("TROUPE_SOAK") != "" {
		warm, rest = time.Minute, 9*time.Minute
	}
	s := testserver.Start(t, testserver.Options{Context: 1 << 20, Pages: 1 << 15, PageSize: 64, StepTime: 10 * time.Millisecond})
	for i := range 2 { // each gets 100 tokens a second
		stream := open(t, s, "POST", "/v1/completions", object{"prompt": onceUpon, "seed": i, "max_tokens": 1 << 17, "stream": true})
		go drainBody(stream)
	}
	b := openBrowserFor(t, s.URL, warm+rest+time.Minute)
	eval[any](b, `location.hash = "#board"; null`)
	b.until(`document.querySelector("#tile-running").textContent === "2"`)
	heap := func() int {
		if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		return eval[int](b, `performance.memory.usedJSHeapSize`)
	}
	wait := func(d time.Duration) { // of the page's clock
		end := eval[float64](b, "performance.now()") + float64(d.Milliseconds())
		passed := chromedp.Poll[bool](fmt.Sprintf("performance.now() > %f", end), chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(d+time.Minute))
		if _, err := chromedp.Run(b.ctx, passed); err != nil {
			t.Fatal(err)
		}
	}
	wait(warm)
	before := heap()
	wait(rest)
	after := heap()
	rate := eval[string](b, `document.querySelector("#tile-generated").textContent`)
	t.Logf("%d KiB after %s, %d KiB after %s, at %s tokens/s", before>>10, warm, after>>10, warm+rest, rate)
	if after > before+before/10+1<<20 {
		t.Errorf("the heap grows from %d to %d bytes", before, after)
	}
	if n, err := strconv.ParseFloat(rate, 64); err != nil || n < 50 {
		t.Errorf("%s tokens/s: %v", rate, err)
	}
}

// drainBody reads a stream until the server ends it.
func drainBody(resp *http.Response) {
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}
