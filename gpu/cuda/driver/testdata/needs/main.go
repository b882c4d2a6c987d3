//go:build cuda

// Command needs opens a driver and says what happened. A test looks at what the binary
// needs to start.
package main

import (
	"fmt"
	"os"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

func main() {
	var o driver.Options
	if len(os.Args) > 1 {
		o.Library = os.Args[1]
	}
	if err := driver.Open(o); err != nil {
		fmt.Println("error:", err)
		return
	}
	n, err := driver.Count()
	fmt.Println("devices:", n, err)
}
