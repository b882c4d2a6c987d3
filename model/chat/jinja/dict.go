package jinja

import (
	"iter"
	"math"
	"slices"
)

// Dict is a Python dict: it keeps the order in which keys came. Templates
// cannot change it. Build it with NewDict and Set before sharing it.
type Dict struct {
	keys, vals []any
	// index is made when a scan would be slow.
	index map[any]int
}

const scanKeys = 8 // up to here a scan over the keys beats a map

// NewDict makes an empty dict with room for n keys.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]any, 0, n), vals: make([]any, 0, n)}
}

// Set puts a value under a string key; an existing key keeps its place.
func (d *Dict) Set(key string, v any) { d.putAs(key, key, v) }

func (d *Dict) Get(key string) (any, bool) { return d.get(key) }

// Delete takes a string key out, if it is there.
func (d *Dict) Delete(key string) {
	i := d.find(key)
	if i < 0 {
		return
	}
	d.keys, d.vals = slices.Delete(d.keys, i, i+1), slices.Delete(d.vals, i, i+1)
	if d.index != nil {
		d.reindex()
	}
}

func (d *Dict) Len() int { return len(d.keys) }

// All walks keys (as text) and values in order.
func (d *Dict) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, k := range d.keys {
			if !yield(plain(k), d.vals[i]) {
				return
			}
		}
	}
}

// find returns the position of a hashed key, -1 if absent.
func (d *Dict) find(h any) int {
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	s, isStr := h.(string)
	for i, k := range d.keys {
		if isStr {
			if t, ok := k.(string); ok && t == s {
				return i
			}
		} else if hashKey(k) == h {
			return i
		}
	}
	return -1
}

// putAs puts a value under a key that is found as h.
func (d *Dict) putAs(h, key, v any) {
	if i := d.find(h); i >= 0 {
		d.vals[i] = v
		return
	}
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	if d.index != nil {
		d.index[h] = len(d.keys) - 1
	} else if len(d.keys) > scanKeys {
		d.reindex()
	}
}

func (d *Dict) reindex() {
	d.index = make(map[any]int, 2*len(d.keys))
	for i, k := range d.keys {
		d.index[hashKey(k)] = i
	}
}

// get takes a hashable key; see rt.get for keys from a template.
func (d *Dict) get(key any) (any, bool) {
	if i := d.find(hashKey(key)); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

// hashKey maps a hashable value to a comparable one, equal exactly when Python
// says that the keys are equal (1, 1.0 and True are one key).
func hashKey(v any) any {
	switch x := v.(type) {
	case bool:
		n, _ := toInt64(x)
		return n
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<62 {
			return int64(x)
		}
	}
	return v
}

// unhashable is the error for a key that Python refuses, or a tuple; nil for others.
func unhashable(k any) *Error {
	switch x := k.(type) {
	case *Undefined:
		return x.failure()
	case *List, *Dict, *view:
		if typeName(k) == "tuple" {
			return typeErr("a tuple as the key of a dict is not supported in chat templates")
		}
		return typeErr("unhashable type: '%s'", typeName(k))
	}
	return nil
}

// hashed refuses unhashable keys, charges for reading and returns k without stand-ins.
func (rt *runtime) hashed(k any) any {
	if s, ok := k.(string); ok {
		rt.work(len(s) / 32)
		if rt.marked(s) {
			return rt.bare(s)
		}
	} else if err := unhashable(k); err != nil {
		panic(err)
	}
	return k
}

// get looks up a key that a template made.
func (rt *runtime) get(d *Dict, k any) (any, bool) { return d.get(rt.hashed(k)) }

// put adds a key that a template made.
func (rt *runtime) put(d *Dict, k, v any) {
	bare := rt.hashed(k)
	rt.work(4)
	if bare != k && d.index == nil {
		d.reindex() // the key is not found by comparing it with the keys
	}
	d.putAs(hashKey(bare), k, v)
}
