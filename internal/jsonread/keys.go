package jsonread

import "slices"

// keySet holds the keys of an object so far.
type keySet struct {
	few  []string
	many map[string]struct{}
}

// fewKeys are compared one by one.
const fewKeys = 16

// add reports whether a key is new.
func (s *keySet) add(key string) bool {
	switch {
	case slices.Contains(s.few, key):
		return false
	case len(s.few) < fewKeys:
		s.few = append(s.few, key)
		return true
	case s.many == nil:
		s.many = map[string]struct{}{}
	}
	if _, there := s.many[key]; there {
		return false
	}
	s.many[key] = struct{}{}
	return true
}
