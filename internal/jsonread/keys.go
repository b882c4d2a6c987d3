package jsonread

import "slices"

// keySet holds the keys of an object so far.
type keySet struct {
	keep bool                // all of keys are wanted
	keys []string            // in their order; without keep, the first ones
	many map[string]struct{} // all of them, once a scan would be slow
}

// fewKeys are compared one by one.
const fewKeys = 16

// add appends a key and reports whether it is new.
func (s *keySet) add(key string) bool {
	old := false
	if s.many == nil {
		old = slices.Contains(s.keys, key)
	} else {
		_, old = s.many[key]
	}
	if s.keep || s.many == nil {
		s.keys = append(s.keys, key)
	}
	switch {
	case s.many != nil:
		s.many[key] = struct{}{}
	case len(s.keys) > fewKeys:
		s.many = make(map[string]struct{}, 2*len(s.keys))
		for _, k := range s.keys {
			s.many[k] = struct{}{}
		}
	}
	return !old
}
