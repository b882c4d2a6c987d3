// Package earley recognises the texts of a context-free grammar byte by byte,
// and keeps what it has found out as a table.
//
// # Rows and configurations
//
// A row is an Earley set: what the grammar may go on with where a terminal has
// just ended. A [Config] is everything that is known after some bytes: the row
// that begins here, if a terminal may end here, and the terminals in progress,
// each with the row it began in and what is left of it (a derivative of its
// regular expression). Where a terminal may end and may also go on, both are
// kept: nothing is decided greedily, so the language is exactly the grammar's.
//
// Rows and configurations are interned by content. A row does not know its
// position, only the rows that its unfinished rules return to, so equal
// situations are one row wherever they occur, and a transition
// (configuration, byte) is computed once. The result is an automaton that is
// built as texts are read.
//
// # Returns
//
// A textbook item is a dotted rule and the row where the rule began. Here it is
// a dotted rule and a return: a nonterminal and a row, meaning that the end of
// the rule completes that nonterminal as begun in that row. When the dot stands
// before the last symbol B of a rule, what is predicted for B may return
// straight to where the rule itself returns. This is tail-call elimination:
// right recursion needs no chain of completions (the case of Leo's
// optimisation) and comes back to the same row, like left recursion. A row
// shares this way up to maxTails returns for each nonterminal; beyond them B's
// items return to the row itself, as in the textbook, which keeps rows of very
// ambiguous grammars small.
//
// Nullable nonterminals are stepped over when they are predicted (Aycock and
// Horspool).
//
// # Bags
//
// An item within a [cfg.Bag] has a state of the bag in place of a nonterminal:
// which entries have come, as far as it matters. Behind an entry the item goes
// on in the next state, so only the states are made that some text leads to:
// one that has n entries in some order makes n.
//
// # No dead ends
//
// A derivative with an empty language is dropped at once, and a [cfg.Grammar]
// holds only symbols that produce something. So every configuration can be
// completed. [Automaton.Ending] says how.
//
// # Bounds
//
// An [Automaton] stops growing at its [Limits]: Next then fails with [ErrFull].
// [Automaton.Import] moves one configuration into a fresh automaton. A
// configuration or row that is itself beyond its bound fails with [ErrTooWide].
//
// # Concurrency
//
// All methods may be called from several goroutines. A transition that is
// known is read without a lock; one that is not is computed under the
// automaton's lock, which takes microseconds.
package earley
