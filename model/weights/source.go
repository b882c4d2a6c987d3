// Package weights finds a model's tensors in safetensors files, or generates random
// ones (Dummy). Files are mapped into memory if the system supports it.
//
// Nothing in a file is trusted: header length, JSON shape, types, shapes, offsets
// and their relations are checked before any data is read, and errors name the
// file, the tensor and the remedy. Data is little-endian and may have any
// alignment.
//
// A mapped file must not be shortened while it is open; the system would end
// the process (SIGBUS). Devices copy weights when they load them, so the source
// can be closed right after that.
package weights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/blob"
)

// Info is what is known of a tensor without its data.
type Info struct {
	Name   string
	DType  string // as the file spells it, "BF16" or "Q4_K"
	Shape  []int
	Bytes  int64
	File   string // in which it stands
	Stored string // its name in the file, where that is another one
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
	return 0, fmt.Errorf("%s: tensor %s has element type %s; supported: %s; use a release of the model in one of these", i.File, i.Title(), i.DType, TypeNames())
}

// TypeNames lists the implemented element types as files spell them.
func TypeNames() string {
	var names []string
	for _, d := range gpu.WeightDTypes() {
		names = append(names, strings.ToUpper(d.String()))
	}
	return strings.Join(names, ", ")
}

// Source is a set of tensors. Safe for concurrent reading. It is streamed by
// its type: what wraps one passes Describe and Discard on, too, and cannot
// leave a device to hold the files beside its copies.
type Source interface {
	gpu.StreamedWeights
	gpu.PlacedWeights
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
	s := &files{entries: map[string]Placed{}}
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

// FromFiles makes a Source of tensors whose places have been checked: inside
// their files, with as many bytes as type and shape have, each name once. The
// Source takes the files over.
func FromFiles(open []blob.Blob, tensors []Placed) Source {
	s := &files{blobs: open, entries: make(map[string]Placed, len(tensors))}
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

// missing explains an absent model by what is there instead.
func missing(fsys fs.FS) error {
	for _, c := range []struct{ pattern, remedy string }{
		{"*.gguf", "a GGUF file is a whole model by itself; give its path"},
		{"*.bin", "PyTorch files are not supported; convert them to safetensors"},
		{"consolidated*", "Meta's and Mistral's own layout is not supported; use the Hugging Face layout of the same model"},
		{"*.safetensors", "its name is not " + SingleFile + " and there is no " + IndexFile + "; download the index file too"},
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
	hash    onceHash
}

func (s *files) sortNames() {
	s.names = make([]string, 0, len(s.entries))
	for name := range s.entries {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
}

// place is where a tensor of a safetensors file stands.
func (t tensor) place(file string, b blob.Blob, data int64) Placed {
	return Placed{Info: Info{Name: t.name, DType: t.dtype, Shape: t.shape, Bytes: t.end - t.begin, File: file}, Blob: b, At: data + t.begin}
}

func (s *files) addSingle(fsys fs.FS) error {
	b, tensors, data, err := s.openFile(fsys, SingleFile)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		s.entries[t.name] = t.place(SingleFile, b, data)
	}
	return nil
}

// openFile opens one safetensors file and reads its header. data is where the
// tensors' data begins.
func (s *files) openFile(fsys fs.FS, name string) (b blob.Blob, tensors []tensor, data int64, err error) {
	b, err = blob.Open(fsys, name)
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
	return e.Info, ok
}

func (s *files) Tensor(name string) (gpu.Tensor, error) {
	e, ok := s.entries[name]
	if !ok {
		return gpu.Tensor{}, s.unknown(name)
	}
	d, err := e.Type()
	if err != nil {
		return gpu.Tensor{}, err
	}
	data, err := e.Blob.Bytes(e.At, e.Bytes)
	if err != nil {
		return gpu.Tensor{}, fmt.Errorf("%s: tensor %s cannot be read: %w", e.File, e.Title(), err)
	}
	t := gpu.Tensor{Name: name, DType: d, Shape: e.Shape, Data: data}
	if e.Order != nil {
		t.Data = ordered(data, e.Order)
		s.Discard(data) // nobody else can: what the device gets is a copy
	}
	return t, nil
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

// ordered copies rows into another order.
func ordered(data []byte, order []int) []byte {
	row := len(data) / len(order)
	out := make([]byte, len(data))
	for to, from := range order {
		copy(out[to*row:(to+1)*row], data[from*row:])
	}
	return out
}

func (s *files) unknown(name string) error {
	return fmt.Errorf("tensor %s is in no file%s; the model's configuration and its weights do not belong together; download both from the same place", name, s.near(name))
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
		errs = append(errs, b.Close())
	}
	s.blobs, s.entries, s.names = nil, nil, nil
	return errors.Join(errs...)
}
