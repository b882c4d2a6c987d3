// Package jinja renders chat templates written in Jinja as Hugging Face's
// transformers configures it: trim_blocks and lstrip_blocks on, loop controls,
// generation blocks, an immutable sandbox, autoescape off.
//
// The measure is Python's jinja2: the same text byte for byte, and an error
// where it raises one. Values therefore follow Python: insertion-ordered
// dicts, floor division, True/False/None, undefined values that print as nothing
// and fail when used. What no chat template is known to use is left out and
// refused by its name, such as filters for HTML and formats of numbers.
//
// What is safe:
//
//  1. A Template is immutable after Parse and may render concurrently.
//
//  2. Template and input are not trusted. Nesting, steps, value and output
//     sizes are bounded by Limits, so parsing and rendering always end, with an
//     error rather than a panic.
//
//  3. Nothing outside is reachable: include, import and extends are refused by
//     name, no clock, no randomness, no files.
//
//  4. What the client wrote can be told from what the template wrote: see
//     RenderMarked.
//
// Values are never changed by a template, except the fields of a namespace,
// which lives for one rendering only. Input values may therefore be shared
// between renderings.
package jinja
