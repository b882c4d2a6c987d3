// Package output turns the text that a model writes into its parts: reasoning,
// content and tool calls.
//
// A Format describes how a model writes the parts; it is data, and one Parser
// reads all formats. Detect finds the format of a chat template, Named takes it
// by the names of parsers that SGLang and vLLM use.
//
// # Guarantees
//
//  1. The parts do not depend on how the text is cut into pieces, even inside a
//     character or a mark. Only what may still become a mark is held back.
//  2. A text without reasoning and calls is its own content, byte for byte.
//  3. A call that is not well formed, or names an unknown tool, is content, byte for byte.
//     Nothing is an error, nothing panics.
//  4. The arguments of a closed call are one valid JSON object.
//  5. Memory is bounded: see MaxCall and MaxSpace. Time is linear in the text.
//
// A stream gives the events on as they come. Once in a while one call turns out to be none: then
// CallBroken takes it back, and its text follows as content. A stream that cannot take a call back
// sets Options.Hold and gets every call when it is complete.
//
// A Parser is not safe for concurrent use. It has no goroutine, clock or randomness.
//
// # Parts
//
//	format, catalogue, names   what a format is; the known ones; names of parsers
//	detect, probe, reasoning   find the format of a template
//	parser, text, calls        the machine: free text, what is around calls
//	messages                   formats whose parts are messages with headers (harmony)
//	object, params, relaxed    the ways to write a call's name and arguments
//	scan, unescape, schema     JSON, strings, the types of a tool's parameters
//	marks, pattern             find marks in text; read short headers
//	message, ids               gather events to a message; ids of calls
package output
