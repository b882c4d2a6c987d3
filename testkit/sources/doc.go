// Package sources contains only tests: the worked examples of the project's source
// documents. They run on the real pools and the real tree. Each prints its state as
// its document does, and testdata has the document's text, written by hand. The
// documents count slots from 0; ours begin at 1, after the padding page, so slots
// are printed one lower.
package sources
