// Command gen writes trampolines_amd64.S of gpu/cuda/driver: for each function that
// include/cuda.h declares, a symbol that jumps through a table. The table is filled when
// the driver is opened, so the linker needs no CUDA library and the binary none to start.
//
//	go generate ./gpu/cuda/driver/gen
//
// # Parts
//
//	header         the functions and constants of include/cuda.h
//	trampolines    the assembly
package main

import (
	"log"
	"os"
)

//go:generate go run .

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile("../include/cuda.h")
	if err != nil {
		log.Fatal(err)
	}
	h, err := parse(string(text))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("../trampolines_amd64.S", trampolines(h), 0o644); err != nil {
		log.Fatal(err)
	}
}
