//go:build !linux

package cpu

// adviseHuge does nothing: these systems choose the size of pages themselves.
func adviseHuge([]byte) {}
