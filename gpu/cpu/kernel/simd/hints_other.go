//go:build !amd64

package simd

func pause(int) {}

func prefetch(*byte, int, int) {}
