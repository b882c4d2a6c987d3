package output

import "strings"

// marking is the marks of a format in free text.
type marking struct {
	start     *marks // before the content begins
	content   *marks
	reasoning *marks
	thought   *marks    // before the thoughts begin
	opens     []string  // of calls
	all       []string  // every text with a mark in it
	headers   []pattern // of a call
	params    []pattern // of a parameter
}

func newMarking(f *Format, calls bool) marking {
	var m marking
	text := append([]string(nil), f.Drop...)
	if f.Calls != nil {
		c := f.Calls
		for _, open := range []string{c.Begin, c.Call.Open} {
			if open == "" {
				continue
			}
			m.opens = append(m.opens, open)
			if c.Lead != "" {
				m.opens = append(m.opens, c.Lead+open)
			}
		}
		m.all = append(m.all, c.Begin, c.End, c.Call.Open, c.Call.Close, Quote)
		m.all = append(m.all, c.Call.Headers...)
		m.headers = parsePatterns(c.Call.Headers)
		if q := c.Call.Params; q != nil {
			m.all = append(append(m.all, q.Open, q.Close, q.End), q.Headers...)
			m.params = parsePatterns(q.Headers)
		}
	}
	if !calls && (f.Calls == nil || f.Calls.Call.Content == "") {
		m.opens = nil // where a mark of calls marks content, too, it is read all the same
	}
	if ms := f.Messages; ms != nil {
		text = append(append(text, ms.Ends...), ms.Start, ms.Channel)
		m.all = append(append(m.all, ms.Body), ms.Other...)
	}
	r := f.Reasoning
	m.all = append(append(m.all, text...), r.Open, r.Close)
	text = append(text, m.opens...)
	thought := []string{r.Close}
	if f.Messages != nil {
		thought = append(append(thought, f.Messages.Ends...), f.Messages.Start)
	}
	if r.EndedByCall {
		thought = append(thought, m.opens...)
	}
	m.reasoning, m.thought = newMarks(thought...), newMarks(append(thought, r.Open)...)
	if r.Reopens {
		text = append(text, r.Open)
	}
	m.content, m.start = newMarks(text...), newMarks(text...)
	if !r.Reopens {
		m.start = newMarks(append(text, r.Open)...)
	}
	return m
}

// mentions reports whether a text is in a mark.
func (m *marking) mentions(text string) bool {
	for _, s := range m.all {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}

func (p *Parser) marks() *marks {
	switch {
	case p.mode == inReasoning && p.reason.started:
		return p.marking.reasoning
	case p.mode == inReasoning:
		return p.marking.thought
	case p.mode == inContent && !p.content.started:
		return p.marking.start
	}
	return p.marking.content
}

// textByte reads a byte of free text.
func (p *Parser) textByte(c byte) {
	if len(p.held) == 0 && p.beginsCalls(c) {
		p.openCalls("")
		p.callByte(c)
		return
	}
	p.held = append(p.held, c)
	for len(p.held) > 0 {
		m := p.marks()
		if !m.first[p.held[0]] {
			p.shift()
			continue
		}
		mark, may := m.look(p.held)
		if mark != "" {
			p.held = p.held[:0]
			p.mark(mark)
			return
		}
		if may {
			return
		}
		p.shift()
	}
}

// shift gives the first byte that is held.
func (p *Parser) shift() {
	c := p.held[0]
	p.held = p.held[:copy(p.held, p.held[1:])]
	p.put(c)
}

// beginsCalls reports whether a byte begins calls without a mark.
func (p *Parser) beginsCalls(c byte) bool {
	if p.mode != inContent || p.content.started || p.f.Calls == nil || !p.f.Calls.AtStart || len(p.tools) == 0 && !p.o.AnyName {
		return false
	}
	if p.f.Calls.List {
		return c == '['
	}
	return c == '{'
}

// mark acts on a mark in free text.
func (p *Parser) mark(mark string) {
	r := &p.f.Reasoning
	for _, open := range p.marking.opens {
		if mark == open && (p.mode != inReasoning || r.EndedByCall) {
			p.closeReasoning("")
			p.openCalls(mark)
			return
		}
	}
	switch {
	case p.f.Messages != nil:
		p.messageMark(mark)
	case p.mode == inReasoning && mark == r.Close:
		p.closeReasoning(mark)
	case p.mode != inReasoning && mark == r.Open:
		p.openReasoning(mark)
	}
}

func (p *Parser) openReasoning(mark string) {
	p.mode = inReasoning
	p.reason.started = p.o.KeepReasoning
	for i := 0; i < len(mark); i++ {
		if p.o.KeepReasoning || p.f.Reasoning.KeepOpen {
			p.put(mark[i])
		}
	}
}

func (p *Parser) closeReasoning(mark string) {
	if p.mode != inReasoning {
		return
	}
	if p.o.KeepReasoning {
		for i := 0; i < len(mark); i++ {
			p.put(mark[i])
		}
	} else {
		p.content.trim = !p.content.started
	}
	p.mode = inContent
	p.reason = reasonState{any: p.reason.any}
}

// put gives a byte of free text.
func (p *Parser) put(c byte) {
	switch {
	case p.mode == inSkip:
	case p.mode == inReasoning && !p.o.KeepReasoning:
		p.putReasoning(c)
	default:
		p.putContent(c)
	}
}

// reasonState is what is known of the thoughts. White space at their begin and end is left out.
type reasonState struct {
	started bool
	any     bool   // there were thoughts
	space   []byte // may be the end
}

func (p *Parser) putReasoning(c byte) {
	r := &p.reason
	if space(c) && (!r.started || len(r.space) < MaxSpace) {
		if r.started {
			r.space = append(r.space, c)
		}
		return
	}
	for _, s := range r.space {
		p.emit(ReasoningDelta, s)
	}
	r.space = r.space[:0]
	r.started, r.any = true, true
	p.emit(ReasoningDelta, c)
}

// contentState is what is known of the content. White space that is all of it before a call, or
// that follows a call, is left out.
type contentState struct {
	started bool
	trim    bool   // newlines at the begin are left out: they follow thoughts
	called  bool   // a call was the last part
	calls   bool   // there was a call
	space   []byte // held back
}

func (p *Parser) putContent(c byte) {
	s := &p.content
	if s.started && !s.called {
		p.emit(ContentDelta, c)
		return
	}
	if space(c) && len(s.space) < MaxSpace {
		s.space = append(s.space, c)
		return
	}
	p.putSpace()
	s.started, s.called = true, false
	p.emit(ContentDelta, c)
}

// putSpace gives the white space that was held back.
func (p *Parser) putSpace() {
	s := &p.content
	text := s.space
	for s.trim && len(text) > 0 && (text[0] == '\n' || text[0] == '\r') {
		text = text[1:]
	}
	for _, c := range text {
		p.emit(ContentDelta, c)
	}
	s.space, s.trim = s.space[:0], false
}

func (p *Parser) endContent() {
	if !p.content.calls {
		p.putSpace()
	}
}
