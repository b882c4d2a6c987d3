package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/intake/httpapi/page"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Browsers get the page and all that it names, from this server alone; programs get errors.
func TestThePageIsForBrowsers(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"k"}}})
	wantError(t, "a program", send(t, s, "GET", "/", nil), 404, "not_found", nil, "to generate text use")
	a := send(t, s, "GET", "/", nil, "Accept", "text/html,application/xhtml+xml")
	if a.status != http.StatusOK || a.header.Get("Content-Security-Policy") != page.Policy || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", a.status, a.header)
	}
	docs := send(t, s, "GET", "/docs", nil)
	if docs.status != http.StatusOK || docs.header.Get("Content-Security-Policy") != page.Policy {
		t.Errorf("/docs: %d %v", docs.status, docs.header)
	}
	total, seen, left := len(a.body), map[string]bool{}, []string{string(a.body), string(docs.body)}
	name := regexp.MustCompile(`(?:href="page/|src="page/|from "\./)([^"]+)"`)
	for len(left) > 0 {
		text := left[0]
		left = left[1:]
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			if seen[found[1]] {
				continue
			}
			seen[found[1]] = true
			f := send(t, s, "GET", "/page/"+found[1], nil)
			if f.status != http.StatusOK || f.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d", found[1], f.status)
			}
			if again := send(t, s, "GET", "/page/"+found[1], nil, "If-None-Match", f.header.Get("ETag")); again.status != http.StatusNotModified || len(again.body) > 0 {
				t.Errorf("%s again: %d", found[1], again.status)
			}
			total += len(f.body)
			left = append(left, string(f.body))
			for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"} {
				if strings.Contains(string(f.body), forbidden) && !(strings.HasSuffix(found[1], ".svg") && forbidden == "http://") {
					t.Errorf("%s has %s", found[1], forbidden)
				}
			}
		}
	}
	if len(seen) != 12 || total > 250<<10 {
		t.Errorf("%d files, %d bytes", len(seen), total)
	}
	wantError(t, "another file", send(t, s, "GET", "/page/none.js", nil), 404, "not_found", nil, "unknown endpoint")
	// A link of another site may lead here; browsers still keep such pages from acting.
	if a := send(t, s, "GET", "/", nil, "Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); a.status != http.StatusOK {
		t.Errorf("by a link: %d", a.status)
	}
}
