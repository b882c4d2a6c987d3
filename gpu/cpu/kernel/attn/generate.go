package attn

//go:generate go run ../gen -family attn
