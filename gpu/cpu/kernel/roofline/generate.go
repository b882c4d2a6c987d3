package roofline

//go:generate go run ../gen -family roofline
