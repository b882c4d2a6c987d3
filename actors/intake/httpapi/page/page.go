// Package page is the page for chat and the live board that the server shows to browsers: files for a handler.
//
// The files are plain ES modules and CSS, without a build step, and ask nothing of another
// origin. Text of a model or of a user reaches the document as text nodes only.
//
// In the folder assets, index.html is the frame of the page, app.js has its state and what
// its buttons do, view.js makes elements of messages and markdown.js of Markdown, also while
// it streams. stream.js sends requests, store.js keeps conversations in the browser within
// bounds, export.js makes files of them, and style.css is for light and dark, wide and narrow.
// board.js shows the frames of /v1/board, rates.js computes rates and latencies from their
// counters, and draw.js draws on canvases. docs.html and docs.js show /openapi.json.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// Policy is the Content-Security-Policy of the page.
const Policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds are the types of the files. Package mime would ask the system, which may have been told
// something else.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is a file that is served.
type file struct {
	kind string // Content-Type
	etag string
	data []byte
}

// Page answers with the files. Immutable.
type Page struct{ files map[string]file }

// New reads the files.
func New() *Page {
	p := &Page{map[string]file{}}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic(err) // they are a part of the program
	}
	for _, e := range entries {
		data, err := fs.ReadFile(assets, path.Join("assets", e.Name()))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		p.files[e.Name()] = file{kinds[path.Ext(e.Name())], `"` + hex.EncodeToString(sum[:8]) + `"`, data}
	}
	return p
}

// Wants reports whether a request is of a browser that shows a page.
func Wants(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// Serve answers with a file, the page itself for the name "". It reports whether there is one.
func (p *Page) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	if name == "" {
		name = "index.html"
	}
	f, ok := p.files[name]
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // a new server has new files; the ETag saves the transfer
	h.Set("ETag", f.etag)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	h.Set("Content-Type", f.kind)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(f.data)
	return true
}
