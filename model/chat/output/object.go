package output

import "slices"

// object reads a call that is one JSON object.
type object struct {
	p      *Parser
	spec   *Object
	state  objectState
	key    []byte
	text   []byte // of the name or id
	reader machine
	after  func() bool // what to do when the value is complete
	nested int         // objects named "function" that are open
	named  bool
	args   bool
	early  []byte // arguments that came before the name
}

type objectState int

const (
	objectOpen objectState = iota // { must come
	objectKeyOrEnd
	objectKey
	objectInKey
	objectColon
	objectValue
	objectInValue
	objectAfter
)

func (o *object) step(c byte) verdict {
	switch o.state {
	case objectInKey:
		switch o.reader.step(c) {
		case bad:
			return bad
		case done:
			o.state = objectColon
		}
		return more
	case objectInValue:
		switch o.reader.step(c) {
		case more:
			return more
		case bad:
			return bad
		case before:
			if !o.value() {
				return bad
			}
			return o.step(c)
		}
		if !o.value() {
			return bad
		}
		return more
	}
	if space(c) {
		return more
	}
	switch state := o.state; {
	case state == objectOpen && c == '{':
		o.state = objectKeyOrEnd
	case (state == objectKeyOrEnd || state == objectKey) && c == '"':
		o.key, o.state = o.key[:0], objectInKey
		o.reader = &unescaper{out: short(&o.key)}
	case state == objectKeyOrEnd && c == '}', state == objectAfter && c == '}':
		return o.end()
	case state == objectColon && c == ':':
		o.state = objectValue
	case state == objectValue:
		return o.begin(c)
	case state == objectAfter && c == ',':
		o.state = objectKey
	default:
		return bad
	}
	return more
}

// short appends to a text until it has MaxHeader bytes.
func short(text *[]byte) func(byte) bool {
	return func(c byte) bool {
		*text = append(*text, c)
		return len(*text) <= MaxHeader
	}
}

// begin starts a value at its first byte.
func (o *object) begin(c byte) verdict {
	key := string(o.key)
	o.state, o.text = objectInValue, o.text[:0]
	o.after = func() bool { return true }
	switch {
	case o.spec.NameIsKey:
		if o.named || !o.name(key) {
			return bad
		}
		o.arguments()
	case slices.Contains(o.spec.Name, key) || key == "function" && c == '"':
		if c != '"' || o.named {
			return bad
		}
		o.reader = &unescaper{out: short(&o.text)}
		o.after = func() bool { return o.name(string(o.text)) }
		return more
	case slices.Contains(o.spec.Arguments, key):
		if o.args {
			return bad
		}
		o.arguments()
	case key == "function" && c == '{' && o.nested == 0:
		o.nested++
		o.state = objectKeyOrEnd
		return more
	case slices.Contains(o.spec.ID, key) && c == '"':
		o.reader = &unescaper{out: short(&o.text)}
		o.after = func() bool { o.p.call.id = string(o.text); return true }
		return more
	default:
		o.reader = &scanner{out: func(string) {}}
	}
	return o.step(c)
}

// value ends a value.
func (o *object) value() bool {
	o.state = objectAfter
	return o.after()
}

func (o *object) name(name string) bool {
	if !o.p.named(name, o.p.call.id) {
		return false
	}
	o.named = true
	if len(o.early) > 0 {
		o.p.argument(string(o.early))
		o.early = nil
	}
	return true
}

func (o *object) arguments() {
	o.args = true
	o.reader = &jsonArguments{out: func(text string) {
		if o.named {
			o.p.argument(text)
		} else {
			o.early = append(o.early, text...)
		}
	}}
}

func (o *object) end() verdict {
	if o.nested > 0 {
		o.nested--
		o.state = objectAfter
		return more
	}
	if !o.named {
		return bad
	}
	return done
}

// jsonArguments reads arguments that are a JSON object, or a JSON string that holds one. An
// empty string and null stand for no arguments.
type jsonArguments struct {
	out    func(string)
	inner  bool // inside a string
	reader machine
	word   int // bytes of null so far
	any    bool
}

func (a *jsonArguments) step(c byte) verdict {
	if a.reader != nil {
		v := a.reader.step(c)
		if v == done && a.inner {
			a.reader = closed{} // white space may follow
			return more
		}
		return v
	}
	switch {
	case a.word > 0 || c == 'n' && !a.inner:
		if c != "null"[a.word] {
			return bad
		}
		if a.word++; a.word == len("null") {
			a.out("{}")
			return done
		}
	case space(c):
	case c == '{':
		a.reader, a.any = &scanner{out: a.out}, true
		return a.reader.step(c)
	case c == '"' && !a.inner:
		in := &jsonArguments{out: a.out, inner: true}
		a.reader = &serialised{in, &unescaper{out: func(c byte) bool { return in.step(c) == more }}}
	default:
		return bad
	}
	return more
}

// closed takes nothing but white space.
type closed struct{}

func (closed) step(c byte) verdict {
	if space(c) {
		return more
	}
	return bad
}

// serialised reads a JSON string that holds arguments.
type serialised struct {
	in *jsonArguments
	un *unescaper
}

func (s *serialised) step(c byte) verdict {
	v := s.un.step(c)
	if v != done {
		return v
	}
	if !s.in.any {
		s.in.out("{}")
		return done
	}
	if _, ok := s.in.reader.(closed); !ok {
		return bad
	}
	return done
}
