// Package grammar decides which tokens a model may say next so that its text
// satisfies a grammar: a JSON schema, a regular expression, EBNF, GBNF, Lark,
// structural tags, a list of choices, an output with calls of tools.
//
// [Compile] turns a [Source] into a [Grammar]; a [Matcher] follows one text
// through it. Masks are exact in both directions: a token is allowed if and
// only if its bytes can be continued to a text of the grammar. Any way to cut a
// text into tokens is allowed; [Matcher.Certain] knows the tokenizer's. Special tokens are allowed only where the grammar
// names them, end tokens only where the text may end.
//
// [Grammar.Sample] draws texts from the masks alone, to see what a grammar allows.
//
// # How it works
//
// A source becomes a context-free grammar over bytes (package cfg, with the
// regular languages of package regex), and that an automaton which is built as
// texts are read (package earley). A mask is a walk of the vocabulary's trees
// through the automaton (package vocab), kept with the configuration.
//
// # Concurrency
//
//   - A Grammar may be used from any number of goroutines. What is known, masks
//     and transitions, is read without a lock. What is not is computed under a
//     lock of the grammar, byte by byte, so nobody waits for longer than one
//     byte takes, which is microseconds. Requests with different grammars share
//     nothing that changes.
//   - A Matcher belongs to one goroutine at a time.
//   - The answers do not depend on who asked before: the tables only remember.
//
// # Bounds
//
// [Limits] bound the tables of a grammar, in bytes. When they are full, a new
// generation of tables is begun; a matcher takes its place along. A place that
// does not fit alone ends that matcher with an error, and no other.
package grammar
