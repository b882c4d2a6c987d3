package hub_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
)

const (
	childEndpoint = "TROUPE_TEST_HUB"
	childCache    = "TROUPE_TEST_HUB_CACHE"
)

// pullInAChild is a process that pulls org/big: this test binary. It may be killed, so its
// temporary files are in a folder of the test.
func pullInAChild(t testing.TB, endpoint, cache string, variables ...string) *exec.Cmd {
	t.Helper()
	temporary := t.TempDir()
	variables = append(variables, "TMPDIR="+temporary, "TMP="+temporary) // the latter on Windows
	child := exec.Command(os.Args[0], "-test.run=^TestPullInAChild$")
	child.Env = append(os.Environ(), append(variables, childEndpoint+"="+endpoint, childCache+"="+cache)...)
	return child
}

// TestPullInAChild is not a test of its own: it is what such a process runs.
func TestPullInAChild(t *testing.T) {
	if os.Getenv(childEndpoint) == "" {
		t.Skip("other tests run this in a process of its own")
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
