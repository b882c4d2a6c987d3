package store

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// lowNice is the niceness of long work: on busy cores it gets about a thirtieth of one.
const lowNice = 15

// lowerLater gives the thread of this goroutine a low priority after a time, unless stop was
// called. The goroutine keeps the thread, and the thread ends with it: nothing else may run with
// that priority.
func lowerLater(after time.Duration) (stop func()) {
	runtime.LockOSThread()
	thread := syscall.Gettid()
	var mu sync.Mutex
	stopped := false
	timer := time.AfterFunc(after, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped { // otherwise the thread may be another one by now
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, lowNice) // without it others are slower, and nothing is wrong
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
	}
}
