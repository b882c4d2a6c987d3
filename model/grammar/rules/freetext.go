package rules

import (
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// AnyText returns every valid UTF-8 text.
func AnyText(s *regex.Set) regex.Term {
	return s.Repeat(s.Runes(regex.AllRunes...), 0, regex.Unbounded)
}

// Without returns the texts of t that hold none of the words.
func Without(s *regex.Set, t regex.Term, words []string) regex.Term {
	return s.And(t, holdNone(s, words))
}

// holdNone returns the texts that hold none of the words.
func holdNone(s *regex.Set, words []string) regex.Term {
	if len(words) == 0 {
		return regex.Anything
	}
	return s.Not(s.Concat(regex.Anything, literals(s, words), regex.Anything))
}

func literals(s *regex.Set, words []string) regex.Term {
	terms := make([]regex.Term, len(words))
	for i, w := range words {
		terms[i] = s.Literal(w)
	}
	return s.Or(terms...)
}

// Upto returns the texts that end in word, where neither it nor any of others
// occurs before, nor any of excluded at all.
func Upto(s *regex.Set, word string, others, excluded []string) regex.Term {
	return upto(s, word, firstOf(s, append([]string{word}, others...)), holdNone(s, excluded))
}

// firstOf returns the texts in which no word comes before the end.
func firstOf(s *regex.Set, words []string) regex.Term {
	return s.Not(s.Concat(regex.Anything, literals(s, words), s.Repeat(s.OneOf(regex.AllBytes), 1, regex.Unbounded)))
}

func upto(s *regex.Set, word string, first, allowed regex.Term) regex.Term {
	return s.And(s.And(s.Concat(AnyText(s), s.Literal(word)), first), allowed)
}

// Branch is what a word leads to.
type Branch struct {
	Word string
	Then cfg.Symbol // what follows the word
}

// Dispatch is free text in which words lead to something else.
type Dispatch struct {
	Branches []Branch
	Excluded []string // words that may not occur in the free text
	Loop     bool     // free text goes on after a branch
	// AtLeastOne: the free text may not end without a branch, and none comes
	// before the first.
	AtLeastOne bool
}

// Compile adds the dispatch to b. Neither words nor excluded ones are empty.
func (d Dispatch) Compile(b *cfg.Builder) cfg.Symbol {
	s := b.Set
	var words []string
	for _, x := range d.Branches {
		words = append(words, x.Word)
	}
	rest := b.Terminal(Without(s, AnyText(s), append(append([]string(nil), words...), d.Excluded...)))
	branch, first := b.Nonterminal("branch"), b.Nonterminal("first branch")
	// The same for all branches: there may be thousands.
	firstWord, allowed := firstOf(s, words), holdNone(s, d.Excluded)
	for _, x := range d.Branches {
		b.Add(branch, b.Terminal(upto(s, x.Word, firstWord, allowed)), x.Then)
		b.Add(first, b.Literal(x.Word), x.Then)
	}
	n := b.Nonterminal("text with tags")
	switch {
	case d.Loop && d.AtLeastOne:
		b.Add(n, first, b.Repeat(branch, 0, -1), rest)
	case d.Loop:
		b.Add(n, b.Repeat(branch, 0, -1), rest)
	case d.AtLeastOne:
		b.Add(n, first)
	default:
		b.Add(n, rest)
		b.Add(n, branch)
	}
	return n
}

// Substring returns the texts that are neighbours of chunks, in order.
func Substring(s *regex.Set, chunks []string) regex.Term {
	tail, out := regex.Empty, []regex.Term{regex.Empty}
	for i := len(chunks) - 1; i >= 0; i-- {
		tail = s.Or(regex.Empty, s.Concat(s.Literal(chunks[i]), tail))
		out = append(out, tail)
	}
	return s.Or(out...)
}
