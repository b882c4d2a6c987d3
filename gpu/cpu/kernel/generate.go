package kernel

//go:generate go run ./gen -family intgemm
//go:generate go run ./gen -family kquant
//go:generate go run ./gen -family tiles
//go:generate go run ./gen -family stream
//go:generate go run ./gen -family rows
//go:generate go run ./gen -family gemm
//go:generate go run ./gen -family attention
