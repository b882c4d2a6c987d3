package scan

//go:generate go run ../gen -family scan
