package gguf

import (
	"fmt"
	"io/fs"
	"regexp"
)

const maxParts = 4096

// A split model (gguf-split of llama.cpp): each part is a GGUF file of its own
// with the keys split.no (from 0), split.count and split.tensors.count (of all
// parts), and is found by its name. The first part has the model's metadata.
const (
	keySplitNo      = "split.no"
	keySplitCount   = "split.count"
	keySplitTensors = "split.tensors.count"
)

var partName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// splitCount returns the number of parts according to the file, 0 if it has none.
func (p *part) splitCount() int64 {
	n, _ := p.meta[keySplitCount].Int()
	return n
}

// addParts opens all parts, of which p is one, and puts them together.
func (f *File) addParts(fsys fs.FS, p *part, count int64) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
	}
	if count > maxParts {
		return fail("%s is %d; it must be at most %d; %s", keySplitCount, count, maxParts, again)
	}
	name := partName.FindStringSubmatch(p.name)
	if name == nil || name[3] != fmt.Sprintf("%05d", count) {
		return fail("is one of %d parts of a model, but its name does not end in -00001-of-%05d.gguf, which is needed to find the others; give all parts their original names", count, count)
	}
	given := p
	for i := range count {
		p := given
		if file := fmt.Sprintf("%s-%05d-of-%05d.gguf", name[1], i+1, count); file != given.name {
			var err error
			if p, err = f.open(fsys, file); err != nil {
				return fmt.Errorf("part %d of %d: %w", i+1, count, err)
			}
		}
		no, ok := p.meta[keySplitNo].Int()
		if !ok || no != i || p.splitCount() != count {
			return fmt.Errorf("%s: is part %d of %d by its metadata, but part %d of %d by its name; the parts do not belong together; download all of them from the same place", p.name, no+1, p.splitCount(), i+1, count)
		}
		if err := f.add(p); err != nil {
			return err
		}
	}
	if want, ok := f.meta[keySplitTensors].Int(); ok && want != int64(len(f.Tensors)) {
		return fmt.Errorf("%s: %s is %d, but the parts have %d tensors; they do not belong together; download all of them from the same place", f.Name, keySplitTensors, want, len(f.Tensors))
	}
	return nil
}
