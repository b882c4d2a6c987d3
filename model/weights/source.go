// Package weights finds a model's tensors: in safetensors files, mapped into
// memory where the system can, or made up (Dummy).
//
// A file is believed in nothing: header length, JSON shape, types, shapes,
// offsets and their relations are checked before a byte of data is touched, and
// errors name the file, the tensor and the remedy. Data is little-endian and
// may stand at any alignment.
//
// A mapped file must not be shortened while it is open; the system would end
// the process (SIGBUS). Devices copy weights when they load them, so closing
// the source right after keeps that time short.
package weights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
)

// Info is what is known of a tensor without its data.
type Info struct {
	Name  string
	DType string // as the file spells it, "BF16"
	Shape []int
	Bytes int64
	File  string // in which it stands
}

// Source is a set of tensors. Safe for concurrent reading.
type Source interface {
	gpu.Weights
	// Names lists all tensors, ascending.
	Names() []string
	// Info describes one; false where there is none of that name.
	Info(name string) (Info, bool)
	// Hash identifies the contents; see hash.go for what it covers. The first
	// call may read a lot, later ones are free.
	Hash(ctx context.Context) (string, error)
	// Close frees the source. Data of its tensors must not be used afterwards.
	Close() error
}

// The names under which Hugging Face stores weights.
const (
	SingleFile = "model.safetensors"
	IndexFile  = "model.safetensors.index.json"
)

// Open finds a model's weights in a directory: one safetensors file, or
// several with an index. Files of the operating system are mapped, others
// (an embedded directory) are read into memory.
func Open(fsys fs.FS) (Source, error) {
	s := &files{entries: map[string]entry{}}
	var err error
	switch {
	case exists(fsys, SingleFile):
		err = s.addSingle(fsys)
	case exists(fsys, IndexFile):
		err = s.addIndexed(fsys)
	default:
		err = missing(fsys)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.names = make([]string, 0, len(s.entries))
	for name := range s.entries {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s, nil
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// missing explains an absent model by what is there instead.
func missing(fsys fs.FS) error {
	for _, c := range []struct{ pattern, remedy string }{
		{"*.gguf", "GGUF files are not read; use the Hugging Face directory of the same model"},
		{"*.bin", "PyTorch files are not read; convert them to safetensors"},
		{"consolidated*", "Meta's and Mistral's own layout is not read; use the Hugging Face layout of the same model"},
		{"*.safetensors", "its name is not " + SingleFile + " and there is no " + IndexFile + "; fetch the index file too"},
	} {
		if found, _ := fs.Glob(fsys, c.pattern); len(found) > 0 {
			return fmt.Errorf("no weights: neither %s nor %s is there, only %s; %s", SingleFile, IndexFile, found[0], c.remedy)
		}
	}
	return fmt.Errorf("no weights: neither %s nor %s is there; fetch the whole model, or set load-format to dummy for random weights", SingleFile, IndexFile)
}

// files is a Source over open safetensors files.
type files struct {
	blobs   []blob
	entries map[string]entry
	names   []string // ascending
	hash    onceHash
}

// entry is a tensor's place.
type entry struct {
	tensor
	file string
	blob blob
	at   int64 // from the beginning of the file
}

func (s *files) addSingle(fsys fs.FS) error {
	b, tensors, data, err := s.openFile(fsys, SingleFile)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		s.entries[t.name] = entry{t, SingleFile, b, data + t.begin}
	}
	return nil
}

// openFile opens one safetensors file and reads its header. data is where the
// tensors' data begins.
func (s *files) openFile(fsys fs.FS, name string) (b blob, tensors []tensor, data int64, err error) {
	b, err = openBlob(fsys, name)
	if err != nil {
		return nil, nil, 0, err
	}
	s.blobs = append(s.blobs, b)
	tensors, data, err = readHeader(b)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return b, tensors, data, nil
}

func (s *files) Names() []string { return s.names }

func (s *files) Info(name string) (Info, bool) {
	e, ok := s.entries[name]
	if !ok {
		return Info{}, false
	}
	return Info{Name: name, DType: e.dtype, Shape: e.shape, Bytes: e.end - e.begin, File: e.file}, true
}

func (s *files) Tensor(name string) (gpu.Tensor, error) {
	e, ok := s.entries[name]
	if !ok {
		return gpu.Tensor{}, fmt.Errorf("tensor %s is in no file%s; the model's config.json and its weights do not belong together, fetch both from one place", name, s.near(name))
	}
	d, ok := loadable[e.dtype]
	if !ok {
		return gpu.Tensor{}, fmt.Errorf("%s: tensor %s has element type %s; implemented are F32, F16 and BF16", e.file, name, e.dtype)
	}
	data, err := e.blob.bytes(e.at, e.end-e.begin)
	if err != nil {
		return gpu.Tensor{}, fmt.Errorf("%s: tensor %s cannot be read: %w", e.file, name, err)
	}
	return gpu.Tensor{Name: name, DType: d, Shape: e.shape, Data: data}, nil
}

// near names a tensor with the same ending, which is what prefixes of other
// layouts leave recognisable.
func (s *files) near(name string) string {
	tail := name
	if _, after, ok := strings.Cut(name, "."); ok {
		tail = after
	}
	for _, n := range s.names {
		if strings.HasSuffix(n, tail) {
			return fmt.Sprintf(" (there is %s)", n)
		}
	}
	return ""
}

func (s *files) Hash(ctx context.Context) (string, error) {
	return s.hash.get(func() (string, error) { return hashFiles(ctx, s) })
}

func (s *files) Close() error {
	var errs []error
	for _, b := range s.blobs {
		errs = append(errs, b.close())
	}
	s.blobs, s.entries, s.names = nil, nil, nil
	return errors.Join(errs...)
}

var loadable = map[string]gpu.DType{"F32": gpu.F32, "F16": gpu.F16, "BF16": gpu.BF16}
