package store

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// niceness is that of a thread; 0 is this one. The system call returns 20 less it.
func niceness(t *testing.T, thread int) int {
	t.Helper()
	p, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	if err != nil {
		t.Error(err)
	}
	return 20 - p
}

// Long work gets a low priority, and nothing else does, then or later.
func TestLowPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	usual := niceness(t, 0)
	if usual >= lowNice {
		t.Skipf("the test itself has the niceness %d", usual)
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, lowNice}, {time.Hour, usual}} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stop := lowerLater(c.after)
			defer stop()
			for end := time.Now().Add(10 * time.Second); niceness(t, 0) != c.want && time.Now().Before(end); {
				runtime.Gosched()
			}
			if got := niceness(t, 0); got != c.want {
				t.Errorf("after %v the niceness is %d, want %d", c.after, got, c.want)
			}
		}()
		<-ended
	}
	for range 100 { // goroutines on any thread
		ended := make(chan int)
		go func() { ended <- niceness(t, 0) }()
		if got := <-ended; got != usual {
			t.Fatalf("another goroutine has the niceness %d, want %d", got, usual)
		}
	}
}
