package weights

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/blob"
)

const (
	maxIndex  = 64 << 20 // bytes of the index file
	maxShards = 4096
)

// addIndexed opens every file that the index names. The index decides in which
// file a tensor is; what a file has beyond that is not part of the model.
func (s *files) addIndexed(fsys fs.FS) error {
	where, err := readIndex(fsys)
	if err != nil {
		return err
	}
	byFile := map[string][]string{}
	for name, file := range where {
		byFile[file] = append(byFile[file], name)
	}
	shards := slices.Sorted(maps.Keys(byFile))
	if len(shards) > maxShards {
		return fmt.Errorf("%s: lists %d files; at most %d are supported; %s", IndexFile, len(shards), maxShards, again)
	}
	for _, file := range shards {
		if err := s.add(fsys, file, func(tensor string) bool { return where[tensor] == file }); err != nil {
			return err
		}
		slices.Sort(byFile[file])
		for _, name := range byFile[file] {
			if _, ok := s.entries[name]; !ok {
				return fmt.Errorf("%s does not contain tensor %s, although %s lists it there; download both again", file, clip(name), IndexFile)
			}
		}
	}
	return nil
}

// readIndex returns the file of each tensor.
func readIndex(fsys fs.FS) (map[string]string, error) {
	data, err := blob.ReadFile(fsys, IndexFile, maxIndex, "a weight index")
	if err != nil {
		return nil, err
	}
	where := map[string]string{}
	r, err := jsonread.NewReader(data)
	if err == nil {
		err = r.Document(func(key []byte) error {
			if string(key) == "weight_map" {
				return r.Object(func(name []byte) error { return place(where, r, string(name)) })
			}
			_, err := r.Raw()
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; %s", IndexFile, err, again)
	}
	if len(where) == 0 {
		return nil, fmt.Errorf("%s: weight_map is empty; download it again", IndexFile)
	}
	return where, nil
}

func place(where map[string]string, r *jsonread.Reader, name string) error {
	text, err := r.Text()
	if err != nil {
		return fmt.Errorf("tensor %s has no file name: %w", clip(name), err)
	}
	file := string(text)
	if _, twice := where[name]; twice {
		return fmt.Errorf("tensor %s appears twice", clip(name))
	}
	// Only the directory itself: an index must not reach other files.
	if !fs.ValidPath(file) || strings.ContainsAny(file, `/\`) || file == "." {
		return fmt.Errorf("tensor %s is assigned to %q; it must be a plain file name without a directory", clip(name), clip(file))
	}
	where[name] = file
	return nil
}
