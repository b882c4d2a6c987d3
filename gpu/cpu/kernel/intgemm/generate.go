package intgemm

//go:generate go run ../gen -family intgemm
//go:generate go run ../gen -family amx
