// Package gguf reads GGUF files, whole or split into several: versions 2 and 3,
// little-endian. The format is described in docs/gguf.md of ggml-org/ggml.
//
//	"GGUF" ─ version ─ counts ─ metadata (key, kind, value)… ─ tensors (name,
//	dimensions, type, offset)… ─ padding ─ data, each tensor aligned
//
// Nothing in the file is trusted. Magic number, version, counts, lengths, nesting, kinds,
// dimensions, types, alignment, offsets and overlaps are checked against each other and
// against the file's size before a number from the file decides what is allocated or
// read. Errors name the file, the key or tensor, its byte offset, and the remedy.
//
// This package knows only the format; package hf knows the meaning of keys and names.
//
// # Parts
//
//	file, split             an open model, of one file or several
//	header, cursor          the beginning of a file; reading on in it, remedies in errors
//	value                   metadata values and their types
//	metadata                a file in memory, without the tensors
//	tensor, elementtypes    the list of tensors; numbers and names of element types
//
// # Bounds
//
//   - Metadata and the list of tensors end within the first 256 MiB; the
//     largest vocabularies need about 20 MiB.
//   - At most 65,536 keys and 65,536 tensors, keys of at most 65,535 bytes and
//     tensor names of at most 64, as the format says.
//   - Arrays in arrays are at most four deep. An array is kept in its encoded form
//     and decoded on use, so it takes no more memory than space in the file.
package gguf
