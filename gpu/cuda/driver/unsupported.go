//go:build cuda && !(cgo && linux && amd64)

package driver

// The trampolines are for linux/amd64, and cgo needs CGO_ENABLED=1 and gcc. This line does
// not compile, and names the cause.
var _ = the_build_tag_cuda_needs_linux_amd64_and_cgo
