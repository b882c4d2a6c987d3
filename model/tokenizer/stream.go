package tokenizer

// Stream decodes ids as they arrive. All texts returned by Push, followed by
// that of Flush, are exactly what [Tokenizer.Decode] gives for all the ids. No
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

// NewStream starts decoding a text.
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
	first := !s.begun
	s.begun = true
	text, flags := t.piece(id), t.flags[id]
	s.buf = s.buf[:0]
	switch t.decoder.join {
	case joinBytes:
		if s.run.n > 0 || flags&flagWhole == 0 {
			text = s.bytes(text)
		}
	case joinFallback:
		if flags&flagFallback != 0 {
			text = s.runByte(text[0])
			break
		}
		if first {
			text = t.decoder.token(t.content[id], true)
		}
		if s.run.n > 0 {
			s.buf = append(s.run.end(s.buf), text...)
			text = string(s.buf)
		}
		s.run = utf8Run{}
	default:
		if first {
			text = t.decoder.token(t.content[id], true)
		} else if t.decoder.join == joinSpaces {
			text = " " + text
		}
	}
	for i := range s.states {
		if text == "" {
			break
		}
		text = s.states[i].push(&t.decoder.onText[i], text)
	}
	return text
}

// Flush ends the text and returns what was kept back: invalid bytes become
// U+FFFD. The stream may then decode another text from its beginning.
func (s *Stream) Flush() string {
	s.buf = s.run.end(s.buf[:0])
	text := string(s.buf)
	for i := range s.states {
		step := &s.t.decoder.onText[i]
		text = s.states[i].push(step, text)
		text += s.states[i].end(step)
	}
	s.begun = false
	return text
}

// bytes decodes the bytes of a byte-level token.
func (s *Stream) bytes(piece string) string {
	for i := range len(piece) {
		s.buf = s.run.push(s.buf, piece[i])
	}
	return string(s.buf)
}

// runByte decodes one byte of a fallback run, without a byte order mark at
// the run's start.
func (s *Stream) runByte(b byte) string {
	atStart := !s.run.text
	s.buf = s.run.push(s.buf, b)
	if len(s.buf) == 0 {
		return ""
	}
	s.run.text = true
	if atStart && string(s.buf) == byteOrderMark {
		return ""
	}
	return string(s.buf)
}
