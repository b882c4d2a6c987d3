package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/troupe-engine/troupe/model/blob"
)

// maxFile bounds the bytes of a configuration file; real ones have a few KB.
const maxFile = 16 << 20

// fields reads typed values of one JSON object and keeps the first error, so
// that a parser can read everything and check once.
type fields struct {
	where string // "config.json" or "config.json: rope_scaling"
	m     map[string]json.RawMessage
	err   *error
	// names are the file's names of keys that are not config.json's; path is the
	// prefix of a nested object's keys there.
	names map[string]string
	path  string
}

// name returns the file's name of a key.
func (f fields) name(key string) string {
	if n, ok := f.names[f.path+key]; ok {
		return n
	}
	return key
}

// isMissing reports whether readFields failed because there is no such file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func readFields(fsys fs.FS, name string) (fields, error) {
	data, err := blob.ReadFile(fsys, name, maxFile, "a configuration file")
	if isMissing(err) {
		return fields{}, fmt.Errorf("%s is missing (%w); give a Hugging Face model directory that has one", name, fs.ErrNotExist)
	}
	if err != nil {
		return fields{}, err
	}
	return parseFields(name, data)
}

func parseFields(name string, data []byte) (fields, error) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(data, &m)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		err = fmt.Errorf("it has the type %s", wrong.Value)
	}
	if err != nil {
		return fields{}, fmt.Errorf("%s is not a JSON object: %w; download it again", name, err)
	}
	return fields{where: name, m: m, err: new(error)}, nil
}

func (f fields) fail(key, format string, args ...any) {
	if *f.err == nil {
		*f.err = fmt.Errorf("%s: %s %s", f.where, f.name(key), fmt.Sprintf(format, args...))
	}
}

// has reports whether a key is there and not null.
func (f fields) has(key string) bool {
	v, ok := f.m[key]
	return ok && string(v) != "null"
}

// isNull reports whether a key is there and null.
func (f fields) isNull(key string) bool { return string(f.m[key]) == "null" }

func (f fields) shown(key string) string {
	v := string(f.m[key])
	if len(v) > 60 {
		v = v[:60] + "…"
	}
	return v
}

// number reads a number in [low, high]; def if it is absent or null.
func number[T int | float64](f fields, key string, low, high, def T) T {
	if !f.has(key) {
		return def
	}
	return required(f, key, low, high)
}

// required is number without a default. It returns low after an error.
func required[T int | float64](f fields, key string, low, high T) T {
	kind, problem := "a number", "is missing"
	if _, whole := any(low).(int); whole {
		kind = "a whole number"
	}
	if f.has(key) {
		var v T
		if json.Unmarshal(f.m[key], &v) == nil && v >= low && v <= high {
			return v
		}
		problem = "is " + f.shown(key)
	}
	f.fail(key, "%s; it must be %s between %v and %v; use the model's original file", problem, kind, low, high)
	return low
}

// value reads a value of another type; def if it is absent or null.
func value[T any](f fields, key, want string, def T) T {
	if !f.has(key) {
		return def
	}
	var v T
	if json.Unmarshal(f.m[key], &v) != nil {
		f.fail(key, "is %s; it must be %s; use the model's original file", f.shown(key), want)
	}
	return v
}

func (f fields) boolean(key string) bool { return value(f, key, "true or false", false) }

func (f fields) text(key, def string) string { return value(f, key, "a string", def) }

func (f fields) texts(key string) []string {
	return value[[]string](f, key, "a list of strings", nil)
}

// object reads a nested object; one without keys if it is absent or null.
func (f fields) object(key string) fields {
	sub := fields{where: f.where + ": " + key, err: f.err}
	if f.names != nil {
		// The file is flat and has a name of its own for each nested key.
		sub.where, sub.names, sub.path = f.where, f.names, key+"."
	}
	sub.m = value[map[string]json.RawMessage](f, key, "an object", nil)
	return sub
}

// tokens reads token ids written as one number, a list or null. Negative ids,
// which some files write for "none", are dropped.
func (f fields) tokens(key string, vocab int) []int32 {
	if !f.has(key) {
		return nil
	}
	var many []int64
	if json.Unmarshal(f.m[key], &many) != nil {
		many = []int64{value[int64](f, key, "a token id or a list of token ids", 0)}
	}
	var ids []int32
	for _, id := range many {
		if id >= int64(vocab) {
			f.fail(key, "has token id %d, but the vocabulary has only %d tokens; use the model's original file", id, vocab)
			return nil
		}
		if id >= 0 && !slices.Contains(ids, int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	return ids
}
