package hub_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A file of 1 GiB, checked while it comes, against curl onto the same disk without a check.
// Both are processes of their own beside that of the hub, and take turns, so that other
// work on the machine slows both.
func BenchmarkDownload(b *testing.B) {
	const size = 1 << 30
	h := hubtest.Start(b, &hubtest.Repo{Name: "org/big", Files: map[string][]byte{"a.gguf": data("big", size)}})
	pull := func(dir string) *exec.Cmd { return pullInAChild(b, h.URL, dir) }
	curl := func(dir string) *exec.Cmd {
		return exec.Command("curl", "-sfL", "-o", filepath.Join(dir, "curl"), h.URL+"/org/big/resolve/main/a.gguf")
	}
	run := func(command func(dir string) *exec.Cmd) (took, busy time.Duration) {
		dir := b.TempDir()
		c, start := command(dir), time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		took = time.Since(start)
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		return took, c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	run(pull) // the hub hashes its file
	var pulls, curls, pullBusy, curlBusy time.Duration
	for range b.N {
		took, busy := run(pull)
		pulls, pullBusy = pulls+took, pullBusy+busy
		took, busy = run(curl)
		curls, curlBusy = curls+took, curlBusy+busy
	}
	n := float64(b.N)
	b.ReportMetric(n*size/1e6/pulls.Seconds(), "pull-MB/s")
	b.ReportMetric(n*size/1e6/curls.Seconds(), "curl-MB/s")
	b.ReportMetric(curls.Seconds()/pulls.Seconds(), "ratio")
	b.ReportMetric(pullBusy.Seconds()/n, "pull-cpu-s")
	b.ReportMetric(curlBusy.Seconds()/n, "curl-cpu-s")
	b.ReportMetric(0, "ns/op")
}
