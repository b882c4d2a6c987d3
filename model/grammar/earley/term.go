package earley

import "github.com/troupe-engine/troupe/model/grammar/regex"

// What is left of a terminal in progress is a term. Many configurations have
// the same terms in progress, so what follows from a term alone can be found
// out once, and noted. Each of these methods holds the lock for one byte at most.

// Terms returns what is left of the terminals in progress at c.
func (c *Config) Terms() []regex.Term {
	terms := make([]regex.Term, len(c.threads))
	for i, t := range c.threads {
		terms[i] = t.term
	}
	return terms
}

// TermClasses maps bytes to the classes that t does not tell apart. The array
// belongs to the automaton.
func (a *Automaton) TermClasses(t regex.Term) *[256]uint8 {
	a.mu.Lock()
	defer a.unlock()
	of, _ := a.set.Classes(t)
	return of
}

// NextTerm returns what is left of t after b. ok is false where that holds no
// string, not even the empty one.
func (a *Automaton) NextTerm(t regex.Term, b byte) (next regex.Term, ok bool, err error) {
	a.mu.Lock()
	defer a.unlock()
	next = a.set.Derivative(t, b)
	empty, err := a.set.IsEmpty(next)
	return next, !empty, err
}

// Note returns what was noted of t. It is for whoever uses the automaton.
func (a *Automaton) Note(t regex.Term) (note int, ok bool) {
	a.mu.Lock()
	defer a.unlock()
	note, ok = a.notes[t]
	return note, ok
}

// SetNote notes something of t.
func (a *Automaton) SetNote(t regex.Term, note int) {
	a.mu.Lock()
	defer a.unlock()
	if _, ok := a.notes[t]; !ok {
		a.bytes += 32
	}
	a.notes[t] = note
}
