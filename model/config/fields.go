package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxFile bounds the bytes of a configuration file; real ones have a few KB.
const maxFile = 16 << 20

// fields reads typed values out of one JSON object and keeps the first error,
// so that a parser can read everything and ask once.
type fields struct {
	where string // "config.json" or "config.json: rope_scaling"
	m     map[string]json.RawMessage
	err   *error
	// names are what the file calls a key, where that is not config.json's
	// name; path goes before a key of a nested object there.
	names map[string]string
	path  string
}

// name is what the file calls a key.
func (f fields) name(key string) string {
	if n, ok := f.names[f.path+key]; ok {
		return n
	}
	return key
}

// isMissing tells whether readFields failed only for want of the file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func readFields(fsys fs.FS, name string) (fields, error) {
	f, err := fsys.Open(name)
	if isMissing(err) {
		return fields{}, fmt.Errorf("%s is missing (%w); give a Hugging Face model directory that has one", name, err)
	}
	if err != nil {
		return fields{}, fmt.Errorf("cannot open %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fields{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if len(data) > maxFile {
		return fields{}, fmt.Errorf("%s has more than %d bytes, too many for a configuration; download it again", name, maxFile)
	}
	return parseFields(name, data)
}

func parseFields(name string, data []byte) (fields, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return fields{}, fmt.Errorf("%s is not a JSON object: %w; download it again", name, err)
	}
	return fields{where: name, m: m, err: new(error)}, nil
}

func (f fields) fail(key, format string, args ...any) {
	if *f.err == nil {
		*f.err = fmt.Errorf("%s: %s %s", f.where, f.name(key), fmt.Sprintf(format, args...))
	}
}

// has tells whether a key is there and not null.
func (f fields) has(key string) bool {
	v, ok := f.m[key]
	return ok && string(v) != "null"
}

// isNull tells whether a key is there and null.
func (f fields) isNull(key string) bool { return string(f.m[key]) == "null" }

func (f fields) shown(key string) string {
	v := string(f.m[key])
	if len(v) > 60 {
		v = v[:60] + "…"
	}
	return v
}

// integer reads a whole number in [low, high]; absent or null gives def, or an
// error where def is 0.
func (f fields) integer(key string, low, high, def int) int {
	if !f.has(key) {
		if def == 0 {
			f.fail(key, "is missing; it must be a whole number from %d to %d; use the model's original file", low, high)
		}
		return def
	}
	var v int
	if err := json.Unmarshal(f.m[key], &v); err != nil || v < low || v > high {
		f.fail(key, "is %s; it must be a whole number from %d to %d; use the model's original file", f.shown(key), low, high)
		return low
	}
	return v
}

// number reads a number in [low, high]; absent or null gives def.
func (f fields) number(key string, low, high, def float64) float64 {
	if !f.has(key) {
		return def
	}
	var v float64
	if err := json.Unmarshal(f.m[key], &v); err != nil || !(v >= low && v <= high) {
		f.fail(key, "is %s; it must be a number from %g to %g; use the model's original file", f.shown(key), low, high)
		return low
	}
	return v
}

// need is number without a default.
func (f fields) need(key string, low, high float64) float64 {
	if !f.has(key) {
		f.fail(key, "is missing; it must be a number from %g to %g; use the model's original file", low, high)
		return low
	}
	return f.number(key, low, high, low)
}

func (f fields) boolean(key string, def bool) bool {
	if !f.has(key) {
		return def
	}
	var v bool
	if json.Unmarshal(f.m[key], &v) != nil {
		f.fail(key, "is %s; it must be true or false", f.shown(key))
	}
	return v
}

func (f fields) text(key, def string) string {
	if !f.has(key) {
		return def
	}
	var v string
	if json.Unmarshal(f.m[key], &v) != nil {
		f.fail(key, "is %s; it must be a string", f.shown(key))
	}
	return v
}

func (f fields) texts(key string) []string {
	var v []string
	if f.has(key) && json.Unmarshal(f.m[key], &v) != nil {
		f.fail(key, "is %s; it must be a list of strings", f.shown(key))
	}
	return v
}

// object reads a nested object; absent or null gives one without keys.
func (f fields) object(key string) fields {
	sub := fields{where: f.where + ": " + key, err: f.err}
	if f.names != nil {
		// The file is flat and has a name of its own for each nested key.
		sub.where, sub.names, sub.path = f.where, f.names, key+"."
	}
	if f.has(key) && json.Unmarshal(f.m[key], &sub.m) != nil {
		f.fail(key, "is %s; it must be an object", f.shown(key))
	}
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
		var one int64
		if json.Unmarshal(f.m[key], &one) != nil {
			f.fail(key, "is %s; it must be a token id or a list of token ids", f.shown(key))
			return nil
		}
		many = []int64{one}
	}
	var ids []int32
	for _, id := range many {
		if id >= int64(vocab) {
			f.fail(key, "names token %d, but the vocabulary has %d tokens; use the model's original file", id, vocab)
			return nil
		}
		if id >= 0 && !slices.Contains(ids, int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// list joins names for an error text.
func list(names []string) string { return strings.Join(names, ", ") }
