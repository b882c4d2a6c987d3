// Package jinja renders chat templates written in Jinja, as Hugging Face's
// transformers configures it. That is: trim_blocks and lstrip_blocks on, loop
// controls, generation blocks, an immutable sandbox, autoescape off.
//
// The reference is Python's jinja2: the same text byte for byte, and an error if
// jinja2 raises one. Values therefore follow Python: insertion-ordered dicts,
// floor division, True/False/None, undefined values that print as nothing and fail
// when used. Features that no known chat template uses, such as filters for HTML
// and formats of numbers, are not implemented and refused by name.
//
// # Parts
//
//	parser, parse_stmt, parse_expr, parse_postfix    from tokens to nodes
//	lexer, literals, ast                             tokens, numbers and strings in the source; the nodes
//	render, scope, limits, errors                    a rendering, its variables, what it may cost, its errors
//	exec, eval, macro, access                        statements, expressions, calls of macros, v.name and v[key]
//	value, dict, numbers, arith, compare             values as in Python: types, conversions, operators
//	repr, json                                       a value as text; JSON in and out, Go values
//	builtin, args, globals                           builtins and their arguments; functions that every template has
//	filters, filters_list, istests                   "v | name" and "v is name"
//	methods, methods_*                               v.name() of texts and dicts
//	marks, standins                                  following the client's characters; texts in which they are replaced
//
// # Guarantees
//
//  1. A Template is immutable after Parse and may render concurrently.
//
//  2. Template and input are not trusted. Nesting, steps, value and output
//     sizes are bounded by Limits, so parsing and rendering always end, with an
//     error rather than a panic.
//
//  3. A template reaches nothing outside: no clock, no randomness, no files;
//     include, import and extends are refused by name.
//
//  4. Text of the client can be distinguished from text of the template: see
//     RenderMarked.
//
// A template never changes values, except the fields of a namespace, which exists for one
// rendering only. Input values may therefore be shared between renderings.
package jinja
