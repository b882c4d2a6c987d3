// Command fakecuda builds the fake CUDA driver with Troupe's kernels and prints its path. It runs
// in the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

func main() {
	path, err := cudaemu.Build("gpu/cuda/kernels", cudaemu.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake-cuda:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
