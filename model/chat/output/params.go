package output

import "strings"

// parameters reads arguments between tags and makes a JSON object of them. The value of a
// parameter that can only be a string is given as it comes, others when they are complete.
type parameters struct {
	p       *Parser
	spec    *Params
	headers []pattern
	state   paramState
	held    []byte
	header  []byte
	ends    *marks
	value   strings.Builder // of no string
	types   types
	text    bool // the value is a string for certain
	first   bool // before the first byte of the value
	any     bool // there was a parameter
}

type paramState int

const (
	betweenParams paramState = iota
	inParamHeader
	inParam
)

func (r *parameters) step(c byte) verdict {
	switch r.state {
	case betweenParams:
		return r.between(c)
	case inParamHeader:
		return r.inHeader(c)
	}
	r.held = append(r.held, c)
	for len(r.held) > 0 {
		mark, may := r.ends.look(r.held)
		if mark != "" {
			r.endValue()
			return more
		}
		if may {
			return more
		}
		first := r.held[0]
		r.held = r.held[:copy(r.held, r.held[1:])]
		r.put(first)
	}
	return more
}

// between reads what is around parameters.
func (r *parameters) between(c byte) verdict {
	if len(r.held) == 0 && space(c) {
		return more
	}
	r.held = append(r.held, c)
	text := string(r.held)
	switch {
	case text == r.spec.Open:
		r.state, r.held, r.header = inParamHeader, r.held[:0], r.header[:0]
	case text == r.spec.End:
		if !r.any {
			r.p.argument("{")
		}
		r.p.argument("}")
		return done
	case !strings.HasPrefix(r.spec.Open, text) && !strings.HasPrefix(r.spec.End, text):
		return bad
	}
	return more
}

func (r *parameters) inHeader(c byte) verdict {
	r.header = append(r.header, c)
	h, f := matchAny(r.headers, string(r.header))
	switch f {
	case no:
		return bad
	case maybe:
		return more
	}
	r.state, r.first = inParam, true
	r.value.Reset()
	r.types = r.p.call.tool.typesOf(h.key)
	switch h.flag {
	case "true":
		r.types = aString
	case "false":
		if r.types &^= aString; r.types == 0 {
			r.types = anything
		}
	}
	r.text = r.types == aString
	if r.ends = newMarks(r.spec.Close); r.spec.Framed {
		r.ends = newMarks(r.spec.Close, "\n"+r.spec.Close)
	}
	if r.any {
		r.p.argument(", ")
	} else {
		r.p.argument("{")
	}
	r.any = true
	r.p.argument(convert(h.key, aString) + ": ")
	if r.text {
		r.p.argument(`"`)
	}
	return more
}

// put takes a byte of the value.
func (r *parameters) put(c byte) {
	if r.first && r.spec.Framed && c == '\n' {
		r.first = false
		return
	}
	r.first = false
	if r.text {
		r.p.argument(quoteByte(c))
	} else {
		r.value.WriteByte(c)
	}
}

func (r *parameters) endValue() {
	r.state, r.held = betweenParams, r.held[:0]
	if r.text {
		r.p.argument(`"`)
		return
	}
	r.p.argument(convert(r.value.String(), r.types))
}
