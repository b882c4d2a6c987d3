package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

var made sync.Map // what data has made

// data is n bytes that differ everywhere. They must not be changed.
func data(seed string, n int) []byte {
	key := fmt.Sprint(seed, n)
	if text, ok := made.Load(key); ok {
		return text.([]byte)
	}
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s %d\n", seed, i)
	}
	text := b.Bytes()[:n:n]
	made.Store(key, text)
	return text
}

const token = "hf_secret_of_a_test"

// little is a repository with safetensors, and other files that are not needed.
func little() *hubtest.Repo {
	return &hubtest.Repo{Name: "org/little", Files: map[string][]byte{
		"config.json": []byte(`{"model_type": "llama"}`), "tokenizer.json": data("tokenizer", 9000), "model.safetensors": data("weights", 3<<20+17),
		"pytorch_model.bin": data("other", 20000), "README.md": []byte("# little"), "tokenizer_config.json": nil,
	}}
}

// options are those of a client for a test's hub, with a cache of its own.
func options(t testing.TB, h *hubtest.Hub) hub.Options {
	t.Helper()
	endpoint, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	return hub.Options{
		Environment: hub.Environment{Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: endpoint, Token: token, HeaderTimeout: 5 * time.Second, DataTimeout: 5 * time.Second},
		Wait:        func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func name(t testing.TB, text string) hub.Name {
	t.Helper()
	n, err := hub.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantFiles compares a directory with the files of a repository.
func wantFiles(t *testing.T, dir string, repo *hubtest.Repo, paths ...string) {
	t.Helper()
	for _, path := range paths {
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || !bytes.Equal(got, repo.Files[path]) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(paths) {
		t.Errorf("%d files in %s, want %d; %v", len(entries), dir, len(paths), err)
	}
}

var littleFiles = []string{"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}

func TestPull(t *testing.T) {
	repo := little()
	repo.Page = 2
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	var last hub.Progress
	opt.Progress = func(p hub.Progress) { last = p }
	c := hub.New(opt)
	got, err := c.Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, repo, littleFiles...)
	if last.Done != last.Total || last.Total != got.Bytes || last.FilesDone != 4 || got.Loaded != got.Bytes {
		t.Errorf("the progress ends with %+v, pulled %+v", last, got)
	}
	// The layout is that of Hugging Face's libraries.
	root := filepath.Join(opt.Cache, "models--org--little")
	if ref, err := os.ReadFile(filepath.Join(root, "refs", "main")); err != nil || string(ref) != repo.Commit {
		t.Errorf("refs/main is %q, %v", ref, err)
	}
	link, err := os.Readlink(filepath.Join(root, "snapshots", repo.Commit, "model.safetensors"))
	if err != nil || !strings.HasPrefix(link, filepath.Join("..", "..", "blobs")+string(filepath.Separator)) || len(filepath.Base(link)) != 64 {
		t.Errorf("the link is %q, %v", link, err)
	}
	// Nothing that is not needed was loaded, and the token went to the hub alone.
	for _, r := range h.Requests() {
		if strings.Contains(r.Path, "pytorch") || strings.Contains(r.Path, "README") {
			t.Errorf("%s was requested", r.Path)
		}
		if want := map[string]string{"hub": token, "cdn": ""}[r.Host]; r.Token != want {
			t.Errorf("%s %s got the token %q", r.Host, r.Path, r.Token)
		}
	}
	// The second time only the list is read.
	again, err := c.Pull(t.Context(), name(t, "org/little"))
	if err != nil || again.Path != got.Path || again.Loaded != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, r := range h.Requests() {
		if r.Host == "cdn" || strings.Contains(r.Path, "/resolve/") {
			t.Errorf("again: %s %s", r.Host, r.Path)
		}
	}
	// Offline, and with the hub down, the cache is enough.
	opt.Offline, opt.Transport = true, noPackets{t}
	if off, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err != nil || off.Path != got.Path {
		t.Errorf("offline: %+v, %v", off, err)
	}
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/other")); err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set") {
		t.Errorf("offline, not cached: %v", err)
	}
	h.SetFault(hubtest.Status(503, ""))
	opt = options(t, h)
	opt.Cache = filepath.Dir(root)
	warned := ""
	opt.Warn = func(text string) { warned = text }
	if down, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err != nil || down.Path != got.Path || !strings.Contains(warned, "Using the cached files of org/little") {
		t.Errorf("with the hub down: %+v, %v, warning %q", down, err, warned)
	}
}

// noPackets fails a test that opens a connection.
type noPackets struct{ t *testing.T }

func (n noPackets) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("offline, %s is requested", r.URL)
	return nil, errors.New("no network")
}

func TestPullGGUFAndShards(t *testing.T) {
	gguf := &hubtest.Repo{Name: "org/quants", Files: map[string][]byte{"a-Q4_K_M.gguf": data("q4", 5000), "sub/a-Q8_0-00001-of-00002.gguf": data("q8", 6000), "sub/a-Q8_0-00002-of-00002.gguf": data("q8b", 7000)}}
	shards := &hubtest.Repo{Name: "org/shards", Branch: "dev", Files: map[string][]byte{"config.json": []byte("{}"), "model.safetensors.index.json": []byte(`{"weight_map": {"x": "model-2.safetensors"}}`),
		"model-1.safetensors": data("1", 5000), "model-2.safetensors": data("2", 5000)}}
	h := hubtest.Start(t, gguf, shards)
	opt := options(t, h)
	c := hub.New(opt)
	for text, want := range map[string]string{"org/quants": "a-Q4_K_M.gguf", "org/quants:q8_0": filepath.Join("sub", "a-Q8_0-00001-of-00002.gguf")} {
		got, err := c.Pull(t.Context(), name(t, text))
		if err != nil || !strings.HasSuffix(got.Path, gguf.Commit+string(filepath.Separator)+want) {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		cached, err := c.Cached(name(t, text))
		if err != nil || cached.Path != got.Path {
			t.Errorf("%s in the cache: %+v, %v", text, cached, err)
		}
	}
	got, err := c.Pull(t.Context(), name(t, "org/shards@dev"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, shards, "config.json", "model.safetensors.index.json", "model-2.safetensors")
	if cached, err := c.Cached(name(t, "org/shards@dev")); err != nil || cached.Path != got.Path {
		t.Errorf("in the cache: %+v, %v", cached, err)
	}
	if _, err := c.Cached(name(t, "org/shards")); err == nil {
		t.Error("the branch main is in the cache")
	}
}

// gzipCut answers a request for a range with a whole file, and the next one with a gzip
// stream that ends in its header.
func gzipCut(c *hubtest.Call) bool {
	if c.R.Header.Get("Range") != "" {
		return hubtest.WithoutRanges(c)
	}
	c.W.Header().Set("Content-Encoding", "gzip")
	_, _ = c.W.Write([]byte{0x1f})
	_ = http.NewResponseController(c.W).Flush()
	panic(http.ErrAbortHandler)
}

// notGzip says gzip and sends something else.
func notGzip(c *hubtest.Call) bool {
	c.W.Header().Set("Content-Encoding", "gzip")
	return hubtest.WithoutRanges(c)
}

// What can go wrong, and how it ends.
func TestFaults(t *testing.T) {
	lieAbout := func(edit func(e *hubtest.Entry)) func([]hubtest.Entry) []hubtest.Entry {
		return func(list []hubtest.Entry) []hubtest.Entry {
			for i := range list {
				if list[i].Path == "model.safetensors" {
					edit(&list[i])
				}
			}
			return list
		}
	}
	for title, c := range map[string]struct {
		fault hubtest.Fault
		edit  func([]hubtest.Entry) []hubtest.Entry
		model string
		want  string // part of the error; "": the pull succeeds
	}{
		"unknown repository": {model: "org/none", want: "there is no model org/none on"},
		"unknown revision":   {model: "org/little@v9", want: "org/little has no such revision"},
		"401":                {fault: hubtest.Status(401, ""), want: "there is no model org/little on"},
		"gated":              {fault: hubtest.Status(403, "GatedRepo"), want: "access to org/little is gated: accept its conditions at"},
		"gated file":         {fault: hubtest.OnFiles(hubtest.Status(403, "GatedRepo")), want: "is gated"},
		"403":                {fault: hubtest.OnFiles(hubtest.Status(403, "")), want: "refuses access to org/little (status 403)"},
		"404 of a file":      {fault: hubtest.OnFiles(hubtest.Status(404, "EntryNotFound")), want: "that the hub does not have"},
		"429":                {fault: hubtest.Status(429, "", "Retry-After", "7"), want: "(rate limit)"},
		"429 at first":       {fault: hubtest.First(2, hubtest.Status(429, "", "Retry-After", "7"))},
		"500":                {fault: hubtest.Status(500, ""), want: "failed with status 500"},
		"503 at first":       {fault: hubtest.First(2, hubtest.Status(503, ""))},
		"418":                {fault: hubtest.Status(418, ""), want: "unexpected status 418"},
		"a circle":           {fault: hubtest.OnFiles(hubtest.Redirect(func(c *hubtest.Call) string { return c.R.URL.Path })), want: "redirects in a circle"},
		"without end":        {fault: hubtest.OnFiles(hubtest.Redirect(func(c *hubtest.Call) string { return c.R.URL.Path + "x" })), want: "redirects more than 10 times"},
		"to nowhere":         {fault: hubtest.OnFiles(hubtest.Redirect(func(*hubtest.Call) string { return "file:///etc/passwd" })), want: "which is not an address"},
		"cut lists":          {fault: hubtest.First(1, hubtest.CutAfter(10))},
		"cut files":          {fault: hubtest.OnFiles(hubtest.First(3, hubtest.CutAfter(1000)))},
		"always cut":         {fault: hubtest.OnFiles(hubtest.CutAfter(0)), want: "cannot be reached"},
		"expired address":    {fault: func(c *hubtest.Call) bool { return c.CDN && c.N == 2 && hubtest.Status(403, "")(c) }},
		"no ranges":          {fault: hubtest.OnFiles(hubtest.WithoutRanges)},
		"gzip":               {fault: hubtest.OnFiles(hubtest.WithGzip)},
		"gzip, cut at once":  {fault: hubtest.OnFiles(hubtest.First(2, gzipCut))},
		"no gzip":            {fault: hubtest.OnFiles(notGzip), want: "but is not gzip data"},
		"changed bytes":      {fault: hubtest.OnFiles(hubtest.Changed), want: "the hash"},
		"too large":          {edit: lieAbout(func(e *hubtest.Entry) { e.LFS.Size -= 5 }), want: "the hub sent invalid data"},
		"too small":          {edit: lieAbout(func(e *hubtest.Entry) { e.LFS.Size += 5 }), want: "the hub sent invalid data"},
		"another hash":       {edit: lieAbout(func(e *hubtest.Entry) { e.LFS.OID = strings.Repeat("0", 64) }), want: "the hash"},
		"no hash":            {edit: lieAbout(func(e *hubtest.Entry) { e.LFS.OID = "../../x" }), want: "the hash of model.safetensors is"},
		"a negative size":    {edit: lieAbout(func(e *hubtest.Entry) { e.LFS.Size = -1 }), want: "a size of -1 bytes"},
		"a path above":       {edit: lieAbout(func(e *hubtest.Entry) { e.Path = "../../config.json" }), want: "the list of files has the path"},
		"an absolute path":   {edit: lieAbout(func(e *hubtest.Entry) { e.Path = "/etc/passwd" }), want: "the list of files has the path"},
		"a path twice":       {edit: lieAbout(func(e *hubtest.Entry) { e.Path = "config.json" }), want: "is in the list of files twice"},
	} {
		t.Run(title, func(t *testing.T) {
			repo := little()
			repo.Edit = c.edit
			h := hubtest.Start(t, repo)
			h.SetFault(c.fault)
			if c.model == "" {
				c.model = "org/little"
			}
			opt := options(t, h)
			got, err := hub.New(opt).Pull(t.Context(), name(t, c.model))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, got.Path, repo, littleFiles...)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			// A file that failed its check has no name.
			_ = filepath.WalkDir(opt.Cache, func(path string, d os.DirEntry, _ error) error {
				if strings.Contains(path, "passwd") || d != nil && d.Name() == "model.safetensors" {
					t.Errorf("%s exists", path)
				}
				return nil
			})
			// When the fault is over, the pull succeeds.
			repo.Edit = nil
			h.SetFault(nil)
			if c.model != "org/little" {
				return
			}
			if got, err = hub.New(opt).Pull(t.Context(), name(t, c.model)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, got.Path, repo, littleFiles...)
		})
	}
}

// A connection that ends after each byte still makes progress.
func TestCutAfterEachByte(t *testing.T) {
	repo := &hubtest.Repo{Name: "org/tiny", Files: map[string][]byte{"a.gguf": data("tiny", 300)}}
	h := hubtest.Start(t, repo)
	h.SetFault(hubtest.OnFiles(hubtest.CutAfter(1)))
	got, err := hub.New(options(t, h)).Pull(t.Context(), name(t, "org/tiny"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(text, repo.Files["a.gguf"]) {
		t.Errorf("%q, %v", text, err)
	}
}

// A hub that says nothing is given up in time.
func TestSilence(t *testing.T) {
	h := hubtest.Start(t, little())
	h.SetFault(hubtest.Silent)
	opt := options(t, h)
	opt.HeaderTimeout, opt.DataTimeout = time.Millisecond, time.Millisecond
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("a silent hub: %v", err)
	}
	h.SetFault(hubtest.OnFiles(hubtest.Silent))
	opt.HeaderTimeout = 5 * time.Second
	opt.DataTimeout = time.Millisecond
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Millisecond
	opt.Transport = transport
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("silent files: %v", err)
	}
}

// A cancelled pull ends at once, and the next one continues it.
func TestCancel(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	opt.Progress = func(p hub.Progress) {
		if p.File == "model.safetensors" && p.Done > 1<<20 {
			cancel()
		}
	}
	if _, err := hub.New(opt).Pull(ctx, name(t, "org/little")); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled pull: %v", err)
	}
	h.Requests()
	opt.Progress = nil
	got, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, repo, littleFiles...)
	sent := int64(0)
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			sent += r.Sent
		}
	}
	if most := int64(len(repo.Files["model.safetensors"]) - 1<<20); sent > most {
		t.Errorf("%d bytes came again, at most %d are missing", sent, most)
	}
}

// Two pulls of one model download it once.
func TestTwoPulls(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	sent := int64(0)
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			sent += r.Sent
		}
	}
	if want := int64(len(repo.Files["model.safetensors"]) + len(repo.Files["tokenizer.json"])); sent != want {
		t.Errorf("%d bytes were sent, want %d", sent, want)
	}
	// While another process holds a lock, a pull waits, and can be cancelled.
	os.RemoveAll(filepath.Join(opt.Cache, "models--org--little"))
	locks, _ := filepath.Glob(filepath.Join(opt.Cache, ".locks", "models--org--little", "[0-9a-f]*.lock"))
	for _, path := range locks {
		lock := flock.New(path)
		if ok, err := lock.TryLock(); !ok || err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := hub.New(opt).Pull(ctx, name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "waiting for another download") {
		t.Errorf("with locks held: %v", err)
	}
}

func TestAFullDisk(t *testing.T) {
	h := hubtest.Start(t, little())
	opt := options(t, h)
	opt.Room = func(string) (int64, error) { return 3 << 20, nil }
	_, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err == nil || !strings.Contains(err.Error(), "org/little needs 3.0 MiB, but the disk with") || !strings.Contains(err.Error(), "has only 3.0 MiB free") {
		t.Errorf("%v", err)
	}
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			t.Error("a file was requested")
		}
	}
}

// The token goes to no other host, not even to one that a redirect of the hub's list names.
func TestTheTokenStaysWithTheHub(t *testing.T) {
	h := hubtest.Start(t, little())
	h.SetFault(func(c *hubtest.Call) bool {
		if !c.CDN && !c.File() && c.N == 1 && strings.Contains(c.R.URL.Path, "/tree/") {
			http.Redirect(c.W, c.R, c.Hub.CDN+c.R.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	_, err := hub.New(options(t, h)).Pull(t.Context(), name(t, "org/little"))
	if err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
	seen := 0
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			seen++
			if r.Token != "" {
				t.Errorf("%s got the token", r.Path)
			}
		}
	}
	if seen == 0 {
		t.Error("the redirect was not followed")
	}
}

func TestStored(t *testing.T) {
	repo := little()
	quants := &hubtest.Repo{Name: "org/quants", Files: map[string][]byte{"a-Q4_0.gguf": data("q4", 5000), "a-Q8_0.gguf": data("q8", 6000)}}
	h := hubtest.Start(t, repo, quants)
	opt := options(t, h)
	c := hub.New(opt)
	if all, err := c.List(); err != nil || len(all) != 0 {
		t.Errorf("an empty cache has %v, %v", all, err)
	}
	for _, text := range []string{"org/little", "org/quants:Q4_0", "org/quants:Q8_0"} {
		if _, err := c.Pull(t.Context(), name(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.List()
	if err != nil || len(all) != 2 || all[1].Name.String() != "org/quants" || all[1].Bytes != 11000 || len(all[1].Commits[0].Files) != 2 || all[1].Commits[0].Revisions[0] != "main" {
		t.Fatalf("%+v, %v", all, err)
	}
	freed, err := c.Remove(name(t, "org/quants:Q8_0"))
	if err != nil || freed != 6000 {
		t.Errorf("removing one of two: %d, %v", freed, err)
	}
	if _, err := c.Cached(name(t, "org/quants:Q4_0")); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if _, err := c.Remove(name(t, "org/quants:Q8_0")); err == nil || !strings.Contains(err.Error(), "does not have org/quants:Q8_0") {
		t.Errorf("removing it again: %v", err)
	}
	if freed, err = c.Remove(name(t, "org/quants")); err != nil || freed != 5000 {
		t.Errorf("removing the rest: %d, %v", freed, err)
	}
	if _, err := c.Remove(name(t, "org/quants")); err == nil || !strings.Contains(err.Error(), "is not in the cache") {
		t.Errorf("removing nothing: %v", err)
	}
	if all, err = c.List(); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	// A file that is being downloaded is not removed.
	hash := all[0].Commits[0].Files[0].Hash
	lock := flock.New(filepath.Join(opt.Cache, ".locks", "models--org--little", hash+".lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(err)
	}
	if _, err = c.Remove(name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "is being downloaded") {
		t.Errorf("with a lock held: %v", err)
	}
	lock.Close()
	if _, err = c.Remove(name(t, "org/little")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
