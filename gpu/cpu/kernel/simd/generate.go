package simd

//go:generate go run ../gen -family simd
