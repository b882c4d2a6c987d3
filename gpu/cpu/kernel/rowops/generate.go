package rowops

//go:generate go run ../gen -family rowops
