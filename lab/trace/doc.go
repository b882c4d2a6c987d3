// Package trace reads recorded request traces: when requests arrived, how long
// they were, and which blocks of their prompts are the same. It reads formats
// of others and its own, and writes its own.
//
//	mooncake  JSON lines with hash_ids per block of 512 tokens
//	azure     CSV with wall-clock times and lengths, no prefixes
//	weka      JSON files of conversations, or an archive of them
//	jsonl     what `troupe serve --record-trace` writes (docs/operations.md)
//
// A Reader holds one line, or the conversations that are going on, never a
// whole file, and reads gzip by its magic bytes. What it refuses or leaves out
// it names by file, line and remedy. Every limit is a constant of this package.
package trace
