package clustertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// BinaryVariable names a binary to test instead of a new one.
const BinaryVariable = "TROUPE_BINARY"

var (
	building sync.Mutex
	built    string // path; "" before the first call
)

// Binary builds the binary, with the invariant checks and under the race detector if the
// test has them. It is built once per test process, and Main removes it.
func Binary(t testing.TB) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if built != "" {
		return built
	}
	if path := os.Getenv(BinaryVariable); path != "" {
		return path
	}
	dir, err := os.MkdirTemp("", "troupe-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "troupe")
	args := []string{"build", "-o", path}
	if invariants.Enabled {
		args = append(args, "-tags", "invariants")
	}
	if racedetector.Enabled {
		args = append(args, "-race")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", append(args, "github.com/troupe-engine/troupe/cmd/troupe")...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	built = path
	return path
}

// Main runs the tests of a package and removes the binary. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}
