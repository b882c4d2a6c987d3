// Package regex holds regular languages over bytes as terms, and takes their
// derivatives.
//
// A [Set] interns terms: two constructions that the rules of normalisation
// make equal get the same [Term], so a term is also a state of a
// deterministic automaton whose transitions are derivatives. Complement and
// intersection are ordinary constructors, which is why derivatives are used
// and not Thompson's construction.
//
// Text is bytes. A character of a pattern is the UTF-8 sequence of its code
// point, so half a character is an ordinary state.
//
// # Bounds
//
// A Set refuses to grow beyond its [Limits]. The failure is sticky: from then
// on constructors return [Nothing] and [Set.Err] says why. Whoever builds terms
// checks Err once at the end, before it believes any of them. The work for
// character classes is counted and bounded in the same way, see [Set.Charge].
//
// # Concurrency
//
// A Set is not safe for concurrent use, reading included: derivatives are
// computed and kept when they are first asked for.
package regex
