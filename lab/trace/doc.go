// Package trace reads recorded request traces. A trace says when requests arrived, how
// long they were, and which blocks of their prompts are the same. There are four formats:
//
//	mooncake  JSON lines with hash_ids per block of 512 tokens
//	azure     CSV with wall-clock times and lengths, no prefixes
//	weka      JSON files of conversations, or an archive of them
//	jsonl     what `troupe serve --record-trace` writes (docs/operations.md)
//
// A Reader holds one line, or the open conversations, never a whole file, and
// recognises gzip by its magic bytes. If it refuses or skips a line, it names file,
// line and remedy. Every limit is a constant of this package.
//
// # Parts
//
//	trace, tokens                a Request, the limits and the names of formats; tokens made up from block ids
//	input, records               files and compression, line by line; formats with one request per line
//	formats                      mooncake, azure and jsonl
//	weka, wekafile, wekasource   conversations in the order of their requests; one JSON file; directory or archive
package trace
