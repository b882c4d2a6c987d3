package gemm

//go:generate go run ../gen -family gemm
