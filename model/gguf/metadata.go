package gguf

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/model/blob"
)

// Read is Open for a file in memory, which belongs to the File from now on. It must not be
// part of a split model.
func Read(name string, data []byte) (*File, error) {
	p, err := readPart(blob.Memory(data), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n := p.splitCount(); n > 1 {
		return nil, fmt.Errorf("%s: is one of %d parts of a model; give a whole one", name, n)
	}
	f := &File{Name: name, index: map[string]int{}}
	return f, f.add(p)
}

// Metadata returns a file without tensors that has the keys for which keep is true, in the
// same order and with the same bytes.
func (f *File) Metadata(keep func(key string) bool) []byte {
	var keys []byte
	n := 0
	for _, key := range f.keys {
		if !keep(key) {
			continue
		}
		v := f.meta[key]
		keys = binary.LittleEndian.AppendUint64(keys, uint64(len(key)))
		keys = append(keys, key...)
		keys = binary.LittleEndian.AppendUint32(keys, uint32(v.Kind))
		keys = append(keys, v.raw...)
		n++
	}
	head := binary.LittleEndian.AppendUint32([]byte(Magic), f.Version)
	head = binary.LittleEndian.AppendUint64(head, 0) // tensors
	head = binary.LittleEndian.AppendUint64(head, uint64(n))
	return append(head, keys...)
}
