// Package gguf reads GGUF files, versions 2 and 3, little-endian, in one file
// or split into several (format: docs/gguf.md of ggml-org/ggml).
//
//	"GGUF" ─ version ─ counts ─ metadata (key, kind, value)… ─ tensors (name,
//	dimensions, type, offset)… ─ padding ─ data, each tensor aligned
//
// A file is believed in nothing. Magic number, version, counts, lengths,
// nesting, kinds, dimensions, types, alignment, offsets and overlaps are
// checked against each other and against the file's size before anything is
// allocated or touched that a number of the file asks for. Errors name the
// file, the key or tensor, the byte where it stands, and the remedy.
//
// What keys and names mean is package hf's; this one knows the format only.
//
// # Bounds
//
//   - Metadata and the list of tensors end within the first 256 MiB; the
//     largest vocabularies need about 20 MiB.
//   - At most 65,536 keys and 65,536 tensors, keys of at most 65,535 bytes and
//     tensor names of at most 64, as the format says.
//   - Arrays in arrays four deep. An array is kept as it stands in the file and
//     decoded when it is asked for, so it never takes more than it has there.
package gguf
