//go:build unix

package hub_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// The process that is killed is this test binary.
const (
	childEndpoint = "TROUPE_TEST_HUB"
	childCache    = "TROUPE_TEST_HUB_CACHE"
)

// TestPullInAChild is not a test of its own: it is the process that others kill.
func TestPullInAChild(t *testing.T) {
	if os.Getenv(childEndpoint) == "" {
		t.Skip("only TestResumeAfterKill runs this")
	}
	env, err := hub.FromEnvironment(func(key string) (string, bool) {
		v := map[string]string{"HF_ENDPOINT": os.Getenv(childEndpoint), "HF_HUB_CACHE": os.Getenv(childCache)}[key]
		return v, v != ""
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.New(hub.Options{Environment: env}).Pull(t.Context(), name(t, "org/big")); err != nil {
		t.Fatal(err)
	}
	fmt.Println("pulled")
}

// A pull is killed at 20 points, by the bytes that the hub has sent. On average at most 8
// MiB come twice after a kill, and the file is right in the end.
func TestResumeAfterKill(t *testing.T) {
	const size, kills, most = 96 << 20, 20, 8 << 20
	repo := &hubtest.Repo{Name: "org/big", Files: map[string][]byte{"a.gguf": data("big", size)}}
	h := hubtest.Start(t, repo)
	cache := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	total := int64(0)
	for i := range kills + 1 {
		child := exec.Command(os.Args[0], "-test.run=^TestPullInAChild$")
		child.Env = append(os.Environ(), childEndpoint+"="+h.URL, childCache+"="+cache)
		var out bytes.Buffer
		child.Stdout, child.Stderr = &out, &out
		pieces := make(chan struct{}, 1<<16)
		h.SetFault(func(c *hubtest.Call) bool {
			if c.CDN {
				pieces <- struct{}{}
			}
			return false
		})
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if i < kills {
			for range 1 + random.IntN(size/(1<<20)/kills) {
				<-pieces
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		err := child.Wait()
		if i == kills && err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, out.Bytes())
		}
	}
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			total += r.Sent
		}
	}
	if twice := total - size; twice > kills*most {
		t.Errorf("seed %d: %d bytes came twice in %d kills", seed, twice, kills)
	} else {
		t.Logf("%.1f MiB came twice in %d kills", float64(twice)/(1<<20), kills)
	}
	opt := options(t, h)
	opt.Cache = cache
	got, err := hub.New(opt).Cached(name(t, "org/big"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(text, repo.Files["a.gguf"]) {
		t.Errorf("seed %d: %d bytes, %v", seed, len(text), err)
	}
}
