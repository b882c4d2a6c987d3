//go:build cuda

package driver

// closeDriver undoes Open, so that a test can open another library.
func closeDriver() {
	openMutex.Lock()
	defer openMutex.Unlock()
	(&library{}).bind()
	opened = library{}
}
