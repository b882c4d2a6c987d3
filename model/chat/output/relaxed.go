package output

import "strings"

// relaxed reads arguments as Python writes them, or Bare ones, and makes JSON of them.
type relaxed struct {
	form  Arguments
	out   func(string)
	types func(key string) types // of the parameters; nil: anything
	state relaxedState
	stack []relaxedFrame
	key   string // of the parameter under way
	word  []byte // a key, number or word so far
	quote int    // bytes of a quote seen
	un    *unescaper
	isKey bool // the string is a key
}

type relaxedFrame struct {
	close byte // the bracket that ends it; 0 for none
	keys  byte // what follows a key, 0 without keys
	bare  bool // keys are bare words
	items int
}

type relaxedState int

const (
	relaxedOpen   relaxedState = iota // { must come
	relaxedItem                       // a key or value, or the end
	relaxedKey                        // in a bare key
	relaxedColon                      // what follows a key
	relaxedValue                      // a value
	relaxedWord                       // in a number or word
	relaxedQuote                      // after an opening quote, which may be one of three
	relaxedString                     // in a string
	relaxedMark                       // in a quote mark
	relaxedMarked                     // in a string between quote marks
	relaxedAfter                      // , or the end
)

func newRelaxed(p *Parser, form Arguments) *relaxed {
	r := &relaxed{form: form, out: p.argument, types: p.call.tool.typesOf}
	if form == Python {
		r.stack = []relaxedFrame{{close: ')', keys: '=', bare: true}}
		r.state = relaxedItem
		r.out("{")
	}
	return r
}

func (r *relaxed) top() *relaxedFrame { return &r.stack[len(r.stack)-1] }

func (r *relaxed) step(c byte) verdict {
	switch r.state {
	case relaxedWord, relaxedKey:
		if r.inWord(c) {
			if len(r.word) == MaxHeader {
				return bad
			}
			r.word = append(r.word, c)
			return more
		}
		if !r.endWord() {
			return bad
		}
	case relaxedQuote:
		return r.afterQuote(c)
	case relaxedString:
		v := r.un.step(c)
		if v == done {
			r.endString()
			return more
		}
		return v
	case relaxedMark, relaxedMarked:
		return r.marked(c)
	}
	if space(c) {
		return more
	}
	switch r.state {
	case relaxedOpen:
		if c != '{' {
			return bad
		}
		return r.push(c)
	case relaxedColon:
		if c != r.top().keys {
			return bad
		}
		r.out(": ")
		r.state = relaxedValue
		return more
	case relaxedAfter:
		if c == ',' {
			r.state = relaxedItem
			return more
		}
		return r.pop(c)
	case relaxedItem:
		if c == r.top().close {
			return r.pop(c)
		}
		if r.top().items++; r.top().items > 1 {
			r.out(", ")
		}
		if r.top().keys != 0 {
			return r.beginKey(c)
		}
	}
	return r.value(c)
}

func (r *relaxed) beginKey(c byte) verdict {
	switch {
	case c == '"' || c == '\'' && r.form == Python && !r.top().bare:
		if r.top().bare && r.form == Python {
			return bad
		}
		return r.beginString(c, true)
	case c == Quote[0] && r.form == Bare:
		r.state, r.quote, r.isKey = relaxedMark, 1, true
		return more
	case r.top().bare && inField("name", c) && c != ':':
		r.state, r.word = relaxedKey, append(r.word[:0], c)
		return more
	}
	return bad
}

func (r *relaxed) value(c byte) verdict {
	switch {
	case c == '{' || c == '[' || c == '(' && r.form == Python:
		return r.push(c)
	case c == '"' || c == '\'' && r.form == Python:
		return r.beginString(c, false)
	case c == Quote[0] && r.form == Bare:
		r.state, r.quote, r.isKey = relaxedMark, 1, false
		return more
	case !r.inWord(c):
		return bad
	}
	r.state, r.word = relaxedWord, append(r.word[:0], c)
	return more
}

// inWord reports whether a byte goes on with a word or key.
func (r *relaxed) inWord(c byte) bool {
	if c == ',' || c == ']' || c == '}' || c == ')' || c == '"' || c == '\'' || c == '=' || c == ':' && r.state == relaxedKey {
		return false
	}
	return !space(c) || r.form == Bare && r.state == relaxedWord && c == ' '
}

// endWord gives the word or key that is complete.
func (r *relaxed) endWord() bool {
	word := strings.TrimRight(string(r.word), " ")
	if r.state == relaxedKey {
		r.endKey(word)
		r.out(convert(word, aString))
		return true
	}
	r.state = relaxedAfter
	text, ok := word, isWord(word)
	switch word {
	case "True":
		text, ok = "true", true
	case "False":
		text, ok = "false", true
	case "None":
		text, ok = "null", true
	}
	if r.form == Bare && (!ok || len(r.stack) == 1 && r.types(r.key)&typeOf(text) == 0) {
		text, ok = convert(word, aString), true
	}
	r.out(text)
	return ok
}

// endKey notes the name of a parameter.
func (r *relaxed) endKey(key string) {
	r.state = relaxedColon
	if len(r.stack) == 1 {
		r.key = key
	}
}

func (r *relaxed) push(c byte) verdict {
	if len(r.stack) == MaxDepth {
		return bad
	}
	f := relaxedFrame{close: ']'}
	switch {
	case c == '{':
		f = relaxedFrame{close: '}', keys: ':', bare: r.form == Bare}
		r.out("{")
	case c == '(':
		f.close = ')'
		fallthrough
	default:
		r.out("[")
	}
	r.stack = append(r.stack, f)
	r.state = relaxedItem
	return more
}

func (r *relaxed) pop(c byte) verdict {
	f := r.top()
	if c != f.close || f.close == 0 {
		return bad
	}
	if f.keys != 0 {
		r.out("}")
	} else {
		r.out("]")
	}
	r.stack = r.stack[:len(r.stack)-1]
	r.state = relaxedAfter
	if len(r.stack) == 0 {
		return done
	}
	return more
}

func (r *relaxed) beginString(c byte, isKey bool) verdict {
	r.isKey, r.word = isKey, r.word[:0]
	r.un = &unescaper{python: r.form == Python, quote: c, out: r.inString}
	r.state = relaxedString
	if r.form == Python {
		r.state, r.quote = relaxedQuote, 1
	}
	r.out(`"`)
	return more
}

// inString takes a byte of a string.
func (r *relaxed) inString(c byte) bool {
	if r.isKey && len(r.stack) == 1 {
		r.word = append(r.word, c)
	}
	r.out(quoteByte(c))
	return len(r.word) <= MaxHeader
}

// afterQuote reads what follows an opening quote: three quotes begin a string, too, and two are
// an empty one.
func (r *relaxed) afterQuote(c byte) verdict {
	switch {
	case r.quote == 1 && c == r.un.quote:
		r.quote = 2
		return more
	case r.quote == 2 && c == r.un.quote:
		r.un.triple = true
		r.state = relaxedString
		return more
	case r.quote == 2:
		r.endString()
	default:
		r.state = relaxedString
	}
	return r.step(c)
}

func (r *relaxed) endString() {
	r.out(`"`)
	if r.isKey {
		r.endKey(string(r.word))
		return
	}
	r.state = relaxedAfter
}

// marked reads quote marks and what is between them.
func (r *relaxed) marked(c byte) verdict {
	if c == Quote[r.quote] {
		if r.quote++; r.quote < len(Quote) {
			return more
		}
		r.quote = 0
		if r.state == relaxedMarked {
			r.endString()
			return more
		}
		r.state, r.word = relaxedMarked, r.word[:0]
		r.out(`"`)
		return more
	}
	if r.state == relaxedMark {
		return bad
	}
	for i := 0; i < r.quote; i++ {
		if !r.inString(Quote[i]) {
			return bad
		}
	}
	if r.quote = 0; c == Quote[0] {
		r.quote = 1
		return more
	}
	if !r.inString(c) {
		return bad
	}
	return more
}
