package tokenizer

// Stream decodes ids as they arrive. All texts returned by Push, followed by
// that of Flush, are exactly what [Tokenizer.Decode] returns for all the ids. No
// returned text ends inside a character, and no later id changes it.
//
// A push takes time in proportion to its token's text, and the stream keeps a
// bounded number of bytes back. A Stream is not safe for concurrent use.
type Stream struct {
	t      *Tokenizer
	opts   DecodeOptions
	begun  bool // a token was decoded
	run    utf8Run
	states []textState // of the decoder's text steps
	buf    []byte
}

func (t *Tokenizer) NewStream(opts DecodeOptions) *Stream {
	s := &Stream{t: t, opts: opts}
	for _, step := range t.decoder.onText {
		s.states = append(s.states, step.begin())
	}
	return s
}

// NewStreamAfter starts decoding a continuation: what the stream returns is
// what follows the text that was final after context. A character that context
// leaves unfinished belongs to the continuation. The time is that of pushing
// context; its last few tokens are enough, as long as one of them is decoded
// (is not a skipped special token) if any of the whole context is.
func (t *Tokenizer) NewStreamAfter(context []int32, opts DecodeOptions) *Stream {
	s := t.NewStream(opts)
	for _, id := range context {
		s.Push(id)
	}
	return s
}

// Push decodes one more id and returns the text that is now final, often
// empty. Unknown ids decode to nothing.
func (s *Stream) Push(id int32) string {
	t := s.t
	if !t.decodes(id, s.opts) {
		return ""
	}
	text, flags := t.piece(id), t.flags[id]
	if !s.begun {
		s.begun = true // some steps treat the first token differently
		first, of := t.decoder.render(nil, t.content[id], true)
		text, flags = string(first), of
	} else if t.decoder.join == joinSpaces {
		text = " " + text
	}
	if flags&(flagWhole|flagFallback) != flagWhole || s.run.n > 0 || s.run.text {
		text = s.join(text, flags)
	}
	for i := range s.states {
		if text == "" {
			break
		}
		text = s.states[i].push(&t.decoder.onText[i], text)
	}
	return text
}

// join joins a token to those before where bytes make characters.
func (s *Stream) join(text string, flags tokenFlag) string {
	switch {
	case flags&flagFallback != 0:
		return s.runByte(text[0])
	case s.t.decoder.join != joinBytes:
		return s.run.end() + text
	}
	s.buf = s.buf[:0]
	for i := range len(text) {
		s.buf = s.run.push(s.buf, text[i])
	}
	return string(s.buf)
}

// Flush ends the text and returns what was kept back: invalid bytes become
// U+FFFD. The stream may then decode another text from its beginning.
func (s *Stream) Flush() string {
	text := s.run.end()
	for i := range s.states {
		step := &s.t.decoder.onText[i]
		text = s.states[i].push(step, text)
		text += s.states[i].end(step)
	}
	s.begun = false
	return text
}

// runByte decodes a byte of a fallback run, without a byte order mark at its start.
func (s *Stream) runByte(b byte) string {
	atStart := !s.run.text
	s.buf = s.run.push(s.buf[:0], b)
	s.run.text = s.run.text || len(s.buf) > 0
	if atStart && string(s.buf) == byteOrderMark {
		return ""
	}
	return string(s.buf)
}
