//go:build cuda

package kernels

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

//go:embed gen/*.gz
var images embed.FS

// Image is the module for a compute capability: a cubin where there is one, otherwise PTX
// that the driver compiles when it loads it.
func Image(major, minor int) ([]byte, error) {
	switch {
	case major == 9 && minor == 0:
		return unpacked("sm_90a.cubin.gz")
	case major == 8:
		return unpacked("sm_80.cubin.gz")
	case major > 8:
		return unpacked("sm_80.ptx.gz")
	}
	return nil, fmt.Errorf("compute capability %d.%d is too old: the kernels need a GPU of 8.0 (Ampere) or newer", major, minor)
}

func unpacked(file string) ([]byte, error) {
	packed, err := images.ReadFile("gen/" + file)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("gen/%s: %w", file, err)
	}
	image, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("gen/%s: %w", file, err)
	}
	return image, nil
}
