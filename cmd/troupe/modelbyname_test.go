package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// `troupe serve ORG/REPO` listens before it has the model: /readyz says how far the download
// is, /livez that the process lives. Then it serves, and the next start needs no hub.
func TestServeAModelByName(t *testing.T) {
	repo := &hubtest.Repo{Name: "org/little", Files: map[string][]byte{}}
	if err := fs.WalkDir(bundled.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			repo.Files[path], err = fs.ReadFile(bundled.FS(), path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	h := hubtest.Start(t, repo)
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Setenv("HF_HUB_OFFLINE", "")
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	free.Close()
	var once sync.Once
	answers := make(chan string, 2)
	h.SetFault(func(c *hubtest.Call) bool { // while the server waits for its weights
		if c.CDN {
			once.Do(func() {
				for _, path := range []string{"/readyz", "/livez"} {
					resp, err := http.Get("http://" + address + path)
					if err != nil {
						answers <- err.Error()
						continue
					}
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					answers <- fmt.Sprint(resp.StatusCode, string(body), err)
				}
			})
		}
		return false
	})
	p := startServer(t, nil, "org/little", "--port", port)
	if p.URL == "" {
		t.Fatalf("it ended:\n%s", p.logged)
	}
	ready, live := <-answers, <-answers
	for _, want := range []string{"503", `"status":"starting"`, `"doing":"downloading org/little"`, `"done_bytes":`, `"total_bytes":`} {
		if !strings.Contains(ready, want) {
			t.Errorf("/readyz during the download is %s, without %s", ready, want)
		}
	}
	if !strings.HasPrefix(live, "200") {
		t.Errorf("/livez during the download is %s", live)
	}
	if !p.answers(t) {
		t.Error("it does not answer")
	}
	p.Process.Signal(os.Interrupt)
	if status := p.ends(); status != 0 {
		t.Errorf("status %d:\n%s", status, p.logged)
	}
	h.Requests()
	t.Setenv("HF_HUB_OFFLINE", "1")
	p = startServer(t, nil, "org/little")
	if p.URL == "" || !p.answers(t) {
		t.Errorf("offline:\n%s", p.logged)
	}
	p.Process.Signal(os.Interrupt)
	if status := p.ends(); status != 0 || len(h.Requests()) > 0 {
		t.Errorf("offline: status %d, or the hub was asked:\n%s", status, p.logged)
	}
}
