package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
)

// SourceSums are the SHA-256 of the sources in a folder, by file name.
func SourceSums(dir fs.FS) (map[string]string, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.IsDir() || ext != ".cu" && ext != ".cuh" {
			continue
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		sums[e.Name()] = hex.EncodeToString(sum[:])
	}
	return sums, nil
}
