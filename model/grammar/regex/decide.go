package regex

import "slices"

// Questions about languages are answered by exploring derivatives, breadth
// first. MaxStates bounds how many terms one question may look at, and maxWork
// how many operands of unions and intersections it may handle.
const (
	MaxStates = 200_000
	maxWork   = 2_000_000
)

// IsEmpty reports whether t holds no string. The answer is kept. It fails with
// [ErrLimit] when too much must be looked at, or the set is full.
func (s *Set) IsEmpty(t Term) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	if n := &s.nodes[t]; n.flags&(flagNullable|flagSeenFull) != 0 {
		return false, nil
	} else if n.flags&flagBoolean == 0 {
		// The rules remove Nothing everywhere, so without intersection and
		// complement only Nothing itself is empty.
		return t == Nothing, nil
	} else if n.flags&flagSeenEmpty != 0 {
		return true, nil
	}
	full, err := s.hasString(t)
	return err == nil && !full, err
}

// AtMostEmpty reports whether t holds no string but the empty one.
func (s *Set) AtMostEmpty(t Term) (bool, error) {
	switch {
	case t == Nothing || t == Empty:
		return true, s.err
	case s.nodes[t].flags&flagBoolean == 0:
		return false, s.err
	}
	return s.IsEmpty(s.NotEmpty(t))
}

// isFull reports whether t is known to hold a string.
func (s *Set) isFull(t Term) bool {
	n := &s.nodes[t]
	return n.flags&(flagNullable|flagSeenFull) != 0 || n.flags&flagBoolean == 0 && t != Nothing
}

// hasString reports whether t holds a string. It looks breadth first and depth
// first in turns: a counter of thousands misleads the one, a string that is far
// away the other. What it finds out is marked.
func (s *Set) hasString(t Term) (bool, error) {
	type entry struct {
		term Term
		from int32
		done bool
	}
	at := map[Term]bool{t: true}
	until := s.work + maxWork
	list, stack := []entry{{t, -1, false}}, []int32{0}
	first := 0
	for turn := 0; first < len(list); turn++ {
		var i int
		if turn%2 == 0 || len(stack) == 0 {
			i = first
			first++
		} else {
			i = int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
		}
		if list[i].done {
			continue
		}
		list[i].done = true
		u := list[i].term
		_, reps := s.Classes(u)
		for _, rep := range reps {
			v := s.Derivative(u, rep)
			if s.err != nil {
				return false, s.err
			}
			if s.isFull(v) {
				for j := int32(i); j >= 0; j = list[j].from {
					s.nodes[list[j].term].flags |= flagSeenFull
				}
				return true, nil
			}
			if v == Nothing || at[v] || s.nodes[v].flags&flagSeenEmpty != 0 {
				continue
			}
			if at[v] = true; len(at) > MaxStates || s.work > until {
				return false, ErrLimit
			}
			stack = append(stack, int32(len(list)))
			list = append(list, entry{v, int32(i), false})
		}
	}
	for _, e := range list {
		s.nodes[e.term].flags |= flagSeenEmpty
	}
	return false, nil
}

// step is a term on the way to a string, and the byte that leads on from it.
type step struct {
	term Term
	next byte
}

// explore looks for the shortest string of t; path is nil if there is none.
func (s *Set) explore(t Term) (path []step, err error) {
	type seen struct {
		from int32
		by   byte
	}
	at := map[Term]bool{t: true}
	until := s.work + maxWork
	queue, info := []Term{t}, []seen{{-1, 0}}
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		if s.Nullable(u) {
			path = []step{{u, 0}}
			for j := int32(i); info[j].from >= 0; j = info[j].from {
				path = append(path, step{queue[info[j].from], info[j].by})
			}
			slices.Reverse(path)
			return path, nil
		}
		_, reps := s.Classes(u)
		for c, rep := range reps {
			v := s.Derivative(u, rep)
			if s.err != nil {
				return nil, s.err
			}
			if v == Nothing || at[v] || s.nodes[v].flags&flagSeenEmpty != 0 {
				continue
			}
			at[v] = true
			if len(queue) >= MaxStates || s.work > until {
				return nil, ErrLimit
			}
			queue = append(queue, v)
			info = append(info, seen{int32(i), s.visible(u, c, rep)})
		}
	}
	return nil, nil
}

// visible returns a byte of class c that a person can read, if there is one.
func (s *Set) visible(t Term, c int, rep byte) byte {
	of, _ := s.Classes(t)
	for b := byte(0x21); b < 0x7f; b++ {
		if int(of[b]) == c {
			return b
		}
	}
	return rep
}

// Witness returns a shortest string of t; ok is false if there is none.
func (s *Set) Witness(t Term) (text string, ok bool, err error) {
	if s.err != nil {
		return "", false, s.err
	}
	path, err := s.explore(t)
	if err != nil || path == nil {
		return "", false, err
	}
	out := make([]byte, 0, len(path))
	for _, step := range path[:len(path)-1] {
		out = append(out, step.next)
	}
	return string(out), true, nil
}

// Contains reports whether every string of b is in a.
func (s *Set) Contains(a, b Term) (bool, error) { return s.IsEmpty(s.And(b, s.Not(a))) }

// Disjoint reports whether no string is in both.
func (s *Set) Disjoint(a, b Term) (bool, error) { return s.IsEmpty(s.And(a, b)) }

// Finite reports whether t has at most max strings, and returns them in byte
// order if so.
func (s *Set) Finite(t Term, max int) (texts []string, ok bool, err error) {
	if s.err != nil {
		return nil, false, s.err
	}
	left := MaxStates
	onPath := map[Term]bool{}
	var walk func(t Term, prefix []byte) bool
	walk = func(t Term, prefix []byte) bool {
		if left--; left < 0 {
			return false
		}
		if empty, e := s.IsEmpty(t); e != nil {
			err = e
			return false
		} else if empty {
			return true
		}
		if s.Nullable(t) {
			if texts = append(texts, string(prefix)); len(texts) > max {
				return false
			}
		}
		if onPath[t] || len(prefix) > 1<<16 {
			return false // t holds a string, and comes back to itself
		}
		onPath[t] = true
		defer delete(onPath, t)
		of, _ := s.Classes(t)
		for b := range 256 {
			rep := s.partitions[s.classes(t)].reps[of[b]]
			if d := s.Derivative(t, rep); d != Nothing && !walk(d, append(prefix, byte(b))) {
				return false
			}
		}
		return true
	}
	ok = walk(t, nil) && s.err == nil && err == nil
	if !ok {
		texts = nil
	}
	if s.err != nil {
		err = s.err
	}
	return texts, ok, err
}
