package httpapi_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
