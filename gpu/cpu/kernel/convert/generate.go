package convert

//go:generate go run ../gen -family convert
