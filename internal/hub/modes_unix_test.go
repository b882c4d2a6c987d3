//go:build unix

package hub_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A group can share a cache: the umask decides on files and directories, and locks can be
// taken by the Python library of another member, which opens them for writing.
func TestModes(t *testing.T) {
	h := hubtest.Start(t, little())
	for mask, want := range map[int]struct{ dir, file string }{0o002: {"775", "664"}, 0o022: {"755", "644"}} {
		old := syscall.Umask(mask)
		opt := options(t, h)
		_, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(opt.Cache, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return err
			}
			at, err := d.Info()
			if err != nil {
				return err
			}
			wanted := want.file
			if d.IsDir() {
				wanted = want.dir
			} else if strings.HasSuffix(path, ".lock") {
				wanted = "664"
			}
			if got := fmt.Sprintf("%o", at.Mode().Perm()); got != wanted {
				t.Errorf("umask %03o: %s has the mode %s, want %s", mask, path, got, wanted)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
