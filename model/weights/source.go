// Package weights finds a model's tensors in safetensors files, or generates random
// ones (Dummy). Files are mapped into memory if the system supports it.
//
// Nothing in a file is trusted: header length, JSON shape, types, shapes, offsets and
// their relations are checked before any data is read, and errors name the file, the
// tensor and the remedy. Data is little-endian and may have any alignment.
//
// A mapped file must not be shortened while it is open; the system would end
// the process (SIGBUS). Devices copy weights when they load them, so the source
// can be closed right after that.
//
// # Parts
//
//	source           Source, Open, tensors of open files
//	header, index    the header of a safetensors file; the list of several files
//	dummy            random weights
//	hash             what identifies weights
package weights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/blob"
)

// Info describes a tensor without its data.
type Info struct {
	Name   string
	DType  string // as the file spells it, "BF16" or "Q4_K"
	Shape  []int
	Bytes  int64
	File   string // name of its file
	Stored string // its name in the file, if that is another one
}

// Title is the tensor's name for an error text, with that in the file.
func (i Info) Title() string {
	if i.Stored == "" || i.Stored == i.Name {
		return i.Name
	}
	return fmt.Sprintf("%s (%s in the file)", i.Name, i.Stored)
}

// Type is the element type as devices know it. The error names the file, the
// tensor and what is implemented.
func (i Info) Type() (gpu.DType, error) {
	d, err := gpu.ParseDType(strings.ToLower(i.DType))
	if err == nil && d.ForWeights() {
		return d, nil
	}
	return 0, fmt.Errorf("%s: tensor %s has element type %s, which is not supported; supported: %s; use weights of the model in one of these types", i.File, i.Title(), i.DType, gpu.WeightFileNames())
}

// Source is a set of tensors. Safe for concurrent reading. A wrapper also passes Describe
// and Discard on, so that a device does not hold the files beside its copies.
type Source interface {
	gpu.StreamedWeights
	gpu.PlacedWeights
	// Names lists all tensors, ascending.
	Names() []string
	// Info describes one; false if there is none of that name.
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
	s := &files{entries: map[string]Placed{}}
	s.unknown = s.near
	var err error
	switch {
	case exists(fsys, SingleFile):
		err = s.add(fsys, SingleFile, func(string) bool { return true })
	case exists(fsys, IndexFile):
		err = s.addIndexed(fsys)
	default:
		err = missing(fsys)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.sortNames()
	return s, nil
}

// Placed is a tensor of an open file of any format.
type Placed struct {
	Info
	Blob blob.Blob
	At   int64 // bytes from the beginning of the file
	// Order has, for each row of the tensor, the row of the file that it is;
	// nil where they are the same. A row is what belongs to one index of the
	// first dimension, so rows of whole blocks can be ordered like any others.
	Order []int
}

// FromFiles makes a Source of tensors whose places have been checked: inside their files,
// with as many bytes as type and shape have, each name once. The Source owns the files
// from now on. unknown returns the error for a name that is not among them.
func FromFiles(open []blob.Blob, tensors []Placed, unknown func(name string) error) Source {
	s := &files{blobs: open, entries: make(map[string]Placed, len(tensors)), unknown: unknown}
	for _, t := range tensors {
		s.entries[t.Name] = t
	}
	s.sortNames()
	return s
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// missing explains an absent model by the files that there are instead.
func missing(fsys fs.FS) error {
	for _, c := range []struct{ pattern, remedy string }{
		{"*.gguf", "a GGUF file is a whole model by itself; give its path"},
		{"*.bin", "PyTorch files are not supported; convert them to safetensors"},
		{"consolidated*", "Meta's and Mistral's own layout is not supported; use the Hugging Face layout of the same model"},
		{"*.safetensors", "its name is not " + SingleFile + ", and " + IndexFile + " is missing; download the index too"},
	} {
		if found, _ := fs.Glob(fsys, c.pattern); len(found) > 0 {
			return fmt.Errorf("no weights: neither %s nor %s is there, only %s; %s", SingleFile, IndexFile, found[0], c.remedy)
		}
	}
	return fmt.Errorf("no weights: neither %s nor %s is there; download the whole model, or set load-format to dummy for random weights", SingleFile, IndexFile)
}

// files is a Source over open files.
type files struct {
	blobs   []blob.Blob
	entries map[string]Placed
	names   []string // ascending
	unknown func(name string) error

	mu  sync.Mutex
	sum string // result of Hash, empty before
}

func (s *files) sortNames() { s.names = slices.Sorted(maps.Keys(s.entries)) }

// add opens a safetensors file and adds the tensors for which keep holds.
func (s *files) add(fsys fs.FS, name string, keep func(tensor string) bool) error {
	b, err := blob.Open(fsys, name)
	if err != nil {
		return err
	}
	s.blobs = append(s.blobs, b)
	tensors, err := readHeader(b, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, t := range tensors {
		if keep(t.Name) {
			s.entries[t.Name] = t
		}
	}
	return nil
}

func (s *files) Names() []string { return s.names }

func (s *files) Info(name string) (Info, bool) {
	e, ok := s.entries[name]
	return e.Info, ok
}

// Describe implements gpu.StreamedWeights.
func (s *files) Describe(name string) (gpu.Tensor, error) {
	e, ok := s.entries[name]
	if !ok {
		return gpu.Tensor{}, s.unknown(name)
	}
	d, err := e.Type()
	return gpu.Tensor{Name: name, DType: d, Shape: e.Shape}, err
}

func (s *files) Tensor(name string) (gpu.Tensor, error) {
	t, err := s.Describe(name)
	if err != nil {
		return gpu.Tensor{}, err
	}
	e := s.entries[name]
	if t.Data, err = e.Blob.Bytes(e.At, e.Bytes); err != nil {
		return gpu.Tensor{}, e.unreadable(err)
	}
	if e.Order != nil {
		data := t.Data
		t.Data = ordered(data, e.Order)
		s.Discard(data) // the caller has a copy only
	}
	return t, nil
}

func (i Info) unreadable(err error) error {
	return fmt.Errorf("%s: tensor %s cannot be read: %w", i.File, i.Title(), err)
}

// Discard implements gpu.StreamedWeights.
func (s *files) Discard(data []byte) {
	for _, b := range s.blobs {
		if b, is := b.(blob.Discarder); is {
			b.Discard(data)
		}
	}
}

// Place implements gpu.PlacedWeights.
func (s *files) Place(name string, index int) (string, int) {
	e, ok := s.entries[name]
	if !ok {
		return "tensor " + name, index
	}
	if e.Order != nil {
		index = e.Order[index]
	}
	return fmt.Sprintf("%s: tensor %s", e.File, e.Title()), index
}

func ordered(data []byte, order []int) []byte {
	row := len(data) / len(order)
	out := make([]byte, len(data))
	for to, from := range order {
		copy(out[to*row:(to+1)*row], data[from*row:])
	}
	return out
}

// near is the error for a tensor that is in no file. It names one with the same
// ending, which is what prefixes of other layouts leave recognisable.
func (s *files) near(name string) error {
	tail, there := name, ""
	if _, after, ok := strings.Cut(name, "."); ok {
		tail = after
	}
	if i := slices.IndexFunc(s.names, func(n string) bool { return strings.HasSuffix(n, tail) }); i >= 0 {
		there = fmt.Sprintf(" (a similar one exists: %s)", s.names[i])
	}
	return fmt.Errorf("tensor %s is missing from the weights%s; the model's configuration and its weights do not belong together; download both from the same place", name, there)
}

// Hash remembers its result; a failure is tried again.
func (s *files) Hash(ctx context.Context) (sum string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sum == "" {
		total := int64(0)
		for _, e := range s.entries {
			total += e.Bytes
		}
		s.sum, err = hashTensors(ctx, s, total > fullHash)
	}
	return s.sum, err
}

func (s *files) Close() error {
	var errs []error
	for _, b := range s.blobs {
		errs = append(errs, b.Close())
	}
	s.blobs, s.entries, s.names = nil, nil, nil
	return errors.Join(errs...)
}
