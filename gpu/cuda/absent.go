//go:build !cuda

package cuda

import "errors"

// ErrAbsent is the error of New in a binary without CUDA.
var ErrAbsent = errors.New("this binary has no support for CUDA; use the one named troupe-cuda of the release, or build it with make build-cuda")

// New returns ErrAbsent.
func New(Options) (Device, error) { return nil, ErrAbsent }

// List returns ErrAbsent.
func List(Options) ([]Found, error) { return nil, ErrAbsent }
