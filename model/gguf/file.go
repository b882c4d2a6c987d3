package gguf

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/troupe-engine/troupe/model/blob"
)

// File is an open GGUF file, or the files of a split one together. Immutable
// and safe for concurrent reading until Close.
type File struct {
	Name    string // of the file; of a split model, of the first one
	Version uint32
	Tensors []Tensor // in the order of the files

	keys  []string
	meta  map[string]Value
	index map[string]int // of Tensors, by name
	blobs []blob.Blob
}

// Open reads a file's metadata and list of tensors and maps its data. name may
// be any part of a split model; all of them must be in the directory.
func Open(fsys fs.FS, name string) (*File, error) {
	f := &File{Name: name, index: map[string]int{}}
	p, err := f.open(fsys, name)
	if err == nil {
		if count := p.splitCount(); count > 1 {
			err = f.addParts(fsys, p, count)
		} else {
			err = f.add(p)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open reads one file. The error names it.
func (f *File) open(fsys fs.FS, name string) (*part, error) {
	b, err := blob.Open(fsys, name)
	if err != nil {
		return nil, err
	}
	f.blobs = append(f.blobs, b)
	p, err := readPart(b, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// add joins the tensors of a part to those before; the metadata is the first part's.
func (f *File) add(p *part) error {
	if f.meta == nil {
		f.Name, f.Version, f.keys, f.meta = p.name, p.version, p.keys, p.meta
	}
	for _, t := range p.tensors {
		if other, twice := f.index[t.Name]; twice {
			return fmt.Errorf("%s: %w", p.name, t.fail("is also in %s; the parts do not belong together; download all of them from the same place", f.Tensors[other].File))
		}
		f.index[t.Name] = len(f.Tensors)
		f.Tensors = append(f.Tensors, t)
	}
	return nil
}

// Keys lists the metadata in the order of the file.
func (f *File) Keys() []string { return f.keys }

func (f *File) Value(key string) (Value, bool) {
	v, ok := f.meta[key]
	return v, ok
}

// Tensor finds a tensor; nil if there is none of that name.
func (f *File) Tensor(name string) *Tensor {
	i, ok := f.index[name]
	if !ok {
		return nil
	}
	return &f.Tensors[i]
}

// Release returns the open files to a new owner: Close leaves them open.
func (f *File) Release() []blob.Blob {
	blobs := f.blobs
	f.blobs = nil
	return blobs
}

// Close frees the files. Values and data must not be used afterwards.
func (f *File) Close() error {
	var errs []error
	for _, b := range f.blobs {
		errs = append(errs, b.Close())
	}
	f.blobs = nil
	return errors.Join(errs...)
}
