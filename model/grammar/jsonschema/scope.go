package jsonschema

import (
	"maps"
	"slices"
	"strings"
)

// scope is what is known of the way that references took to a schema: for each
// dynamic anchor the outermost schema that has it. Scope 0 knows none.
type scope int32

// scopes interns scopes.
type scopes struct {
	known []map[string]*value
	ids   map[string]scope
	names map[*value]string // a short name of each schema, for keys
}

func newScopes() *scopes {
	return &scopes{known: []map[string]*value{{}}, ids: map[string]scope{"": 0}, names: map[*value]string{}}
}

// enter returns the scope inside r.
func (s *scopes) enter(from scope, r *resource) scope {
	var grown map[string]*value
	for _, anchor := range slices.Sorted(maps.Keys(r.dynamic)) {
		if s.known[from][anchor] == nil {
			if grown == nil {
				grown = maps.Clone(s.known[from])
			}
			grown[anchor] = r.dynamic[anchor]
		}
	}
	if grown == nil {
		return from
	}
	var key strings.Builder
	for _, anchor := range slices.Sorted(maps.Keys(grown)) {
		v := grown[anchor]
		if s.names[v] == "" {
			s.names[v] = string(rune('0' + len(s.names)))
		}
		key.WriteString(anchor + "\x00" + s.names[v] + "\x00")
	}
	id, ok := s.ids[key.String()]
	if !ok {
		id = scope(len(s.known))
		s.known = append(s.known, grown)
		s.ids[key.String()] = id
	}
	return id
}
