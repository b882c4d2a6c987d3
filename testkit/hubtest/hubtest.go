// Package hubtest is a hub for tests: it speaks the protocol of Hugging Face's hub, with
// small files in git and large ones at a delivery network of another host, and has faults.
//
// # Parts
//
//	hubtest     the hub, its repositories and requests
//	faults      what can go wrong, by request
package hubtest

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repo is a repository with one commit.
type Repo struct {
	Name   string            // ORG/REPO
	Commit string            // 40 hexadecimal digits; "": made from the name
	Files  map[string][]byte // by path
	Branch string            // "": main
	// Edit changes the list of files before it is sent.
	Edit func(entries []Entry) []Entry
	// Page is how many entries a page of the list has; 0: all.
	Page int

	hash sync.Once
	list []Entry
}

// Entry is an entry of the list of files.
type Entry struct {
	Type string `json:"type"`
	OID  string `json:"oid"`
	Size int64  `json:"size"`
	Path string `json:"path"`
	LFS  *LFS   `json:"lfs,omitempty"`
}

// LFS is the large file that an entry stands for.
type LFS struct {
	OID         string `json:"oid"`
	Size        int64  `json:"size"`
	PointerSize int    `json:"pointerSize"`
}

// Large is the size in bytes from which a file is a large one.
const Large = 4096

// Request is a request that the hub or its delivery network has got.
type Request struct {
	Host, Path, Range string
	Token             string
	Sent              int64 // bytes of the body of the answer
}

// Hub is a running hub. It is safe for concurrent use.
type Hub struct {
	URL, CDN    string            // addresses of the hub and of its delivery network
	Certificate *x509.Certificate // of both, with TLS; for 127.0.0.1, example.com and *.example.com

	mu       sync.Mutex // of what follows; a test's server is not an engine
	repos    map[string]*Repo
	requests []*Request
	fault    Fault
	count    map[string]int
}

// Start starts a hub with repositories, which ends with the test.
func Start(t testing.TB, repos ...*Repo) *Hub {
	h := New(repos...)
	h.URL = start(t, h.serveHub, (*httptest.Server).Start).URL
	h.CDN = strings.Replace(start(t, h.serveCDN, (*httptest.Server).Start).URL, "127.0.0.1", "localhost", 1)
	return h
}

// StartTLS is Start with https, on servers that prefer HTTP/2 as Hugging Face's do.
func StartTLS(t testing.TB, repos ...*Repo) *Hub {
	h := New(repos...)
	startTLS := func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	}
	hub := start(t, h.serveHub, startTLS)
	h.URL, h.CDN, h.Certificate = hub.URL, start(t, h.serveCDN, startTLS).URL, hub.Certificate()
	return h
}

func start(t testing.TB, serve http.HandlerFunc, how func(*httptest.Server)) *httptest.Server {
	s := httptest.NewUnstartedServer(serve)
	how(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// New makes a hub without servers; ServeHTTP answers for both hosts, by the path.
func New(repos ...*Repo) *Hub {
	h := &Hub{repos: map[string]*Repo{}, count: map[string]int{}}
	for _, r := range repos {
		if r.Commit == "" {
			sum := sha1.Sum([]byte(r.Name))
			r.Commit = hex.EncodeToString(sum[:])
		}
		h.repos[r.Name] = r
	}
	return h
}

// SetFault sets what goes wrong from now on; nil: nothing.
func (h *Hub) SetFault(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.count = f, map[string]int{}
}

// Requests returns all requests so far and forgets them.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Request, len(h.requests))
	for i, r := range h.requests {
		all[i] = *r
	}
	h.requests = nil
	return all
}

// serve answers one request, with the fault for it.
func (h *Hub) serve(host string, w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
	h.mu.Lock()
	request := &Request{Host: host, Path: r.URL.Path, Range: r.Header.Get("Range"), Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	h.requests = append(h.requests, request)
	fault := h.fault
	h.count[r.URL.Path]++
	n := h.count[r.URL.Path]
	h.mu.Unlock()
	counted := &counter{w, func(n int) {
		h.mu.Lock()
		request.Sent += int64(n)
		h.mu.Unlock()
	}}
	if fault != nil && fault(&Call{Hub: h, CDN: host == "cdn", N: n, W: counted, R: r, Answer: func() { answer(counted, r) }}) {
		return
	}
	answer(counted, r)
}

type counter struct {
	http.ResponseWriter
	add func(n int)
}

// Write counts first: a client may have the bytes before Write returns.
func (c *counter) Write(p []byte) (int, error) {
	c.add(len(p))
	n, err := c.ResponseWriter.Write(p)
	c.add(n - len(p))
	return n, err
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (h *Hub) serveHub(w http.ResponseWriter, r *http.Request) { h.serve("hub", w, r, h.hub) }
func (h *Hub) serveCDN(w http.ResponseWriter, r *http.Request) { h.serve("cdn", w, r, h.cdn) }

// Refuse answers with an error as the hub does.
func Refuse(w http.ResponseWriter, status int, code string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": %q}`, cmp.Or(code, http.StatusText(status)))
}

func (h *Hub) hub(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	parts := strings.SplitN(strings.TrimPrefix(path, "api/models/"), "/", 4)
	if len(parts) < 2 {
		Refuse(w, http.StatusNotFound, "")
		return
	}
	repo := h.repos[parts[0]+"/"+parts[1]]
	switch {
	case repo == nil:
		Refuse(w, http.StatusUnauthorized, "RepoNotFound")
	case len(parts) < 4 && strings.HasPrefix(path, "api/models/"):
		h.info(w, repo)
	case parts[2] == "revision":
		if h.revision(repo, parts[3]) == "" {
			Refuse(w, http.StatusNotFound, "RevisionNotFound")
			return
		}
		h.info(w, repo)
	case parts[2] == "paths-info" && r.Method == http.MethodPost:
		h.pathsInfo(w, r, repo)
	case parts[2] == "tree":
		if h.revision(repo, strings.SplitN(parts[3], "/", 2)[0]) == "" {
			Refuse(w, http.StatusNotFound, "RevisionNotFound")
			return
		}
		h.tree(w, r, repo)
	case parts[2] == "resolve":
		h.resolve(w, r, repo, parts[3])
	default:
		Refuse(w, http.StatusNotFound, "")
	}
}

func (h *Hub) revision(repo *Repo, name string) string {
	name, _ = url.PathUnescape(name)
	if name == repo.Commit || name == "HEAD" || name == cmp.Or(repo.Branch, "main") {
		return repo.Commit
	}
	return ""
}

func (h *Hub) info(w http.ResponseWriter, repo *Repo) {
	var siblings []map[string]string
	for _, e := range entries(repo) {
		siblings = append(siblings, map[string]string{"rfilename": e.Path})
	}
	answer(w, map[string]any{"id": repo.Name, "modelId": repo.Name, "sha": repo.Commit, "siblings": siblings, "private": false, "gated": false, "likes": 0, "downloads": 0, "lastModified": "2026-01-01T00:00:00.000Z"})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// entries lists the files of a repository, which are hashed once.
func entries(repo *Repo) []Entry {
	repo.hash.Do(func() { repo.list = hashed(repo) })
	list := slices.Clone(repo.list)
	for i, e := range list { // an Edit must not reach the next answer
		if e.LFS != nil {
			large := *e.LFS
			list[i].LFS = &large
		}
	}
	return list
}

func hashed(repo *Repo) (list []Entry) {
	for path, data := range repo.Files {
		sha := sha1.New()
		fmt.Fprintf(sha, "blob %d\x00", len(data))
		sha.Write(data)
		e := Entry{Type: "file", Path: path, Size: int64(len(data)), OID: hex.EncodeToString(sha.Sum(nil))}
		if len(data) >= Large {
			sum := sha256.Sum256(data)
			e.LFS = &LFS{hex.EncodeToString(sum[:]), int64(len(data)), 135}
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func (h *Hub) tree(w http.ResponseWriter, r *http.Request, repo *Repo) {
	list := entries(repo)
	if repo.Edit != nil {
		list = repo.Edit(list)
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := len(list)
	if repo.Page > 0 && from+repo.Page < to {
		to = from + repo.Page
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=true&cursor=%d>; rel="next"`, h.URL, r.URL.EscapedPath(), to))
	}
	answer(w, list[min(from, to):to])
}

func (h *Hub) pathsInfo(w http.ResponseWriter, r *http.Request, repo *Repo) {
	var body struct {
		Paths []string `json:"paths"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	list := []Entry{}
	for _, e := range entries(repo) {
		if slices.Contains(body.Paths, e.Path) {
			list = append(list, e)
		}
	}
	answer(w, list)
}

func (h *Hub) resolve(w http.ResponseWriter, r *http.Request, repo *Repo, rest string) {
	rev, path, _ := strings.Cut(rest, "/")
	path, _ = url.PathUnescape(path)
	data, ok := repo.Files[path]
	switch {
	case h.revision(repo, rev) == "":
		Refuse(w, http.StatusNotFound, "RevisionNotFound")
		return
	case !ok:
		Refuse(w, http.StatusNotFound, "EntryNotFound")
		return
	}
	w.Header().Set("X-Repo-Commit", repo.Commit)
	if len(data) < Large {
		w.Header().Set("ETag", `"`+entryOf(repo, path).OID+`"`)
		w.Header().Set("Content-Disposition", "inline")
		serve(w, r, data)
		return
	}
	sum := entryOf(repo, path).LFS.OID
	w.Header().Set("X-Linked-Etag", `"`+sum+`"`)
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
	w.Header().Set("Accept-Ranges", "bytes")
	http.Redirect(w, r, h.CDN+"/"+repo.Name+"/"+sum+"?signed=1", http.StatusFound)
}

func entryOf(repo *Repo, path string) Entry {
	list := entries(repo)
	return list[slices.IndexFunc(list, func(e Entry) bool { return e.Path == path })]
}

func (h *Hub) cdn(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(parts) == 3 {
		if data := h.blob(parts[0]+"/"+parts[1], parts[2]); data != nil {
			w.Header().Set("ETag", `"`+parts[2]+`"`)
			serve(w, r, data)
			return
		}
	}
	http.NotFound(w, r)
}

func (h *Hub) blob(repo, hash string) []byte {
	r := h.repos[repo]
	if r == nil {
		return nil
	}
	for _, e := range entries(r) {
		if e.LFS != nil && e.LFS.OID == hash {
			return r.Files[e.Path]
		}
	}
	return nil
}

// serve answers with a file or a range of it.
func serve(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// ServeHTTP answers for the hub and, below /cdn/, for its delivery network. For a hub that
// is not part of a test; URL and CDN must be set.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/cdn/"); ok {
		r.URL.Path = "/" + rest
		h.serveCDN(w, r)
		return
	}
	h.serveHub(w, r)
}
