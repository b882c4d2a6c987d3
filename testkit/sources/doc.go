// Package sources holds no code but tests: the worked examples of the source
// documents of the project, run on the real pools and the real tree. Each
// prints its state as its document does, and testdata has what the document
// says, written by hand. The documents count slots from 0; ours begin at 1,
// after the padding page, so slots are printed one lower.
package sources
