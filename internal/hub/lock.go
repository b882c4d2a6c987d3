package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPause is how often a lock that another process holds is tried again.
const lockPause = 100 * time.Millisecond

// noticeAfter is how many attempts later a waiting user is told why. Small files are there
// before that.
const noticeAfter = 10

// lockMode lets the other users of a cache lock, too: the Python library opens locks for
// writing.
const lockMode = 0o664

// lock waits for a lock. A shared one keeps away only those who want it alone. notice tells
// the user why it takes long.
func (h *Hub) lock(ctx context.Context, path string, shared bool, notice string) (unlock func(), err error) {
	for attempt := 0; ; attempt++ {
		if attempt == noticeAfter {
			h.opt.Warn(notice)
		}
		if unlock, err = h.tryLock(path, shared); unlock != nil || err != nil {
			return unlock, err
		}
		if err := wait(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

// tryLock returns nil if another process holds the lock. The file is never removed: a
// process that waits for it would then get a lock that no other process sees.
func (h *Hub) tryLock(path string, shared bool) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, unwritable(err)
	}
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, lockMode); err == nil {
		_ = errors.Join(f.Chmod(lockMode), f.Close()) // whatever the umask
	}
	file := flock.New(path, flock.SetPermissions(lockMode))
	taken, err := h.opt.Lock(file, shared)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		h.noLocks.Do(func() {
			h.opt.Warn(fmt.Sprintf("the file system with %s has no locks (flock). Do not let two programs download or remove the same model at a time", h.cache.dir))
		})
		return func() {}, nil
	case err != nil:
		return nil, unwritable(err)
	case !taken:
		return nil, nil
	}
	return func() { _ = file.Close() }, nil
}

func flocked(file *flock.Flock, shared bool) (taken bool, err error) {
	if shared {
		return file.TryRLock()
	}
	return file.TryLock()
}
