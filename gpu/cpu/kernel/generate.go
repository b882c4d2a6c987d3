package kernel

//go:generate go run ./gen -family stream
