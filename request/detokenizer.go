package request

// Detokenizer makes the streams that turn output tokens into text.
type Detokenizer interface {
	// NewStream starts after a prompt, whose tokens are context (frozen). keepSpecial
	// leaves special tokens in the text. continues: the text continues the prompt's, so a
	// leading space is kept which a vocabulary would drop at the start of a text.
	NewStream(context []int32, keepSpecial, continues bool) Stream
}

// Stream is the detokeniser of one output. It must be deterministic: the same
// tokens give the same text, however often it is rebuilt.
type Stream interface {
	// Push returns the text that the next token completes: whole UTF-8 characters, or "".
	Push(id int32) string
	// Flush returns the rest of an unfinished character as it is shown at the end
	// of the output. No tokens are pushed after it.
	Flush() string
}
