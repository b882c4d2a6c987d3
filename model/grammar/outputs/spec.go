// Package outputs makes grammars of what a model writes in an output format:
// thoughts, content that may have a grammar of its own, and calls of tools.
//
// The texts of such a grammar are those that package output reads as parts: what
// a mask allows is a complete call of a known tool with arguments that its schema
// allows, or free text in which no call begins.
//
// # What an output is
//
// Thoughts may come first, then content, or calls, or content and then calls. Behind calls there is
// nothing but white space. Up to eight characters of white space may stand around the parts of a call
// where the parser passes over it.
//
// Marks of a format that are special tokens of the vocabulary are those tokens. Free text holds no
// special token, and no mark that begins calls. Where calls need no mark, text that
// begins as only a call does must be one.
//
// # Arguments
//
// They are what the tool's schema allows, in the form of the format. In JSON and Python they are as package
// jsonschema writes them. Between tags a string is text, and other values are JSON; text that the parser would
// take for another type that the schema allows, too, is left out. Bare arguments have the right form only.
//
// # Parts
//
//	spec, read        what an output may be; its JSON, checked
//	compile, parts    the compilation; pieces of a grammar, marks, what may stand before a mark
//	output, content   thoughts, content and calls in order; free text
//	calls, headers    groups of calls, calls as objects, calls behind headers
//	params, python, bare, input   arguments
//	messages          formats of messages (harmony)
package outputs

import (
	"encoding/json"

	"github.com/troupe-engine/troupe/model/chat/output"
)

// Spec says what an output may be. Its JSON form is the text of a grammar of kind
// "output".
type Spec struct {
	Format output.Format `json:"format"`
	// Opened is the end of the prompt that belongs to the output, see output.Options.
	Opened string `json:"opened,omitempty"`
	// NoThoughts says that the output begins after the thoughts, or that there are none.
	NoThoughts bool `json:"no_thoughts,omitempty"`
	// Content is what the content must match, if the output is no calls; nil: any text.
	Content *Text  `json:"content,omitempty"`
	Tools   []Tool `json:"tools,omitempty"` // those that may be called; names differ
	// Required says that the output, after thoughts, is one call or more.
	Required bool `json:"required,omitempty"`
	// Single says that there is one call at most.
	Single bool `json:"single,omitempty"`
}

// Text is a grammar as the client gave it.
type Text struct {
	Kind string `json:"kind"` // one of package grammar
	Text string `json:"text"`
}

// Tool is a tool that may be called.
type Tool struct {
	Name string `json:"name"`
	// Parameters is the JSON schema of the arguments, an object; nil: any object.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Strict refuses a schema that cannot be kept as a whole. Otherwise keywords that
	// cannot be kept are left out, and listed.
	Strict bool `json:"strict,omitempty"`
	// Input, if not nil, is what a custom tool's only argument, the text "input", must
	// match. Its kind is lark or regex.
	Input *Text `json:"input,omitempty"`
}
