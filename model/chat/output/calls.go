package output

// callState is the calls under way.
type callState struct {
	raw     []byte // text since the calls began, or since the last complete call
	literal []byte // between calls: what may become a mark
	header  []byte
	stage   stage
	list    listState
	reader  machine // of the arguments, or of the whole object
	closed  int     // complete calls of this group
	just    bool    // a call was the last part

	open  bool // CallOpened was given
	index int
	next  int
	tool  *tool
	id    string
	args  bool         // arguments were given
	was   contentState // before the call
	kept  []Event
	text  []byte // arguments, with Hold
}

type stage int

const (
	between stage = iota // calls
	inCallHeader
	inArguments
)

type listState int

const (
	listNone  listState = iota
	listBegin           // [ must come
	listFirst           // a call or ]
	listItem            // a call
	listAfter           // , or ]
	listEnd             // the end, or no more
)

// machine reads a part of a call byte by byte.
type machine interface{ step(c byte) verdict }

// openCalls begins a group of calls at a mark in the content.
func (p *Parser) openCalls(mark string) {
	calls := p.f.Calls
	s := &p.call
	p.mode = inCalls
	s.raw = append(s.raw[:0], mark...)
	s.literal, s.stage, s.list, s.closed, s.just = s.literal[:0], between, listNone, 0, false
	if calls.List {
		s.list = listBegin
	}
	if mark != "" && (mark == calls.Call.Open || mark == calls.Lead+calls.Call.Open) {
		p.startCall()
	}
}

// startCall begins the header or object of a call.
func (p *Parser) startCall() {
	s, call := &p.call, &p.f.Calls.Call
	s.literal, s.header, s.id, s.tool, s.args = s.literal[:0], s.header[:0], "", nil, false
	if call.Object != nil {
		s.stage, s.reader = inArguments, &object{p: p, spec: call.Object}
		return
	}
	s.stage = inCallHeader
}

func (p *Parser) callByte(c byte) {
	s := &p.call
	s.raw = append(s.raw, c)
	if len(s.raw) > MaxCall {
		p.fail()
		return
	}
	switch s.stage {
	case between:
		p.betweenCalls(c)
	case inCallHeader:
		p.callHeader(c)
	case inArguments:
		switch s.reader.step(c) {
		case done:
			p.closeCall()
		case bad:
			p.fail()
		}
	}
}

// betweenCalls reads what stands around calls.
func (p *Parser) betweenCalls(c byte) {
	s, calls := &p.call, p.f.Calls
	if len(s.literal) == 0 && space(c) {
		return
	}
	s.literal = append(s.literal, c)
	if s.list == listNone || s.list == listFirst || s.list == listItem {
		switch {
		case calls.Call.Open != "":
		case len(s.literal) > 1:
		case calls.Call.Object != nil && c == '{', calls.Call.Object == nil && inField("name", c):
			p.startCall()
			s.raw = s.raw[:len(s.raw)-1]
			p.callByte(c)
			return
		}
	}
	may := false
	for _, next := range p.expected() {
		switch literal := next.literal; {
		case literal == "" || len(literal) < len(s.literal) || literal[:len(s.literal)] != string(s.literal):
		case len(literal) == len(s.literal):
			s.literal = s.literal[:0]
			next.act(p)
			return
		default:
			may = true
		}
	}
	if !may {
		p.leaveCalls()
	}
}

type expectation struct {
	literal string
	act     func(p *Parser)
}

// expected lists what may stand where the calls are now.
func (p *Parser) expected() []expectation {
	s, calls := &p.call, p.f.Calls
	var list []expectation
	if s.just {
		list = append(list, expectation{calls.Call.Close, (*Parser).accept})
	}
	to := func(state listState) func(p *Parser) {
		return func(p *Parser) {
			p.call.list, p.call.just = state, false
			if state == listEnd {
				p.accept()
			}
		}
	}
	switch s.list {
	case listBegin:
		return append(list, expectation{"[", to(listFirst)})
	case listFirst:
		list = append(list, expectation{"]", to(listEnd)})
	case listAfter:
		return append(list, expectation{",", to(listItem)}, expectation{"]", to(listEnd)})
	case listEnd:
		return append(list, expectation{calls.End, (*Parser).endGroup})
	}
	list = append(list, expectation{calls.Call.Open, (*Parser).startCall})
	if s.list == listNone {
		list = append(list, expectation{calls.End, (*Parser).endGroup})
		if s.closed > 0 {
			list = append(list, expectation{calls.Separator, func(*Parser) {}})
		}
	}
	return list
}

// accept takes what was read since the last call as its end.
func (p *Parser) accept() {
	p.call.just = false
	if p.call.closed > 0 {
		p.call.raw = p.call.raw[:0]
	}
}

// endGroup ends the calls at their end mark. A group without a call was none.
func (p *Parser) endGroup() {
	if p.call.closed == 0 {
		p.fail()
		return
	}
	p.mode = inContent
}

// leaveCalls reads what follows the last complete call as free text.
func (p *Parser) leaveCalls() {
	s := &p.call
	if s.closed == 0 {
		p.fail()
		return
	}
	p.mode = inContent
	text := string(s.raw)
	s.raw = s.raw[:0]
	for i := 0; i < len(text); i++ {
		p.step(text[i])
	}
}

// callHeader reads the text before the arguments.
func (p *Parser) callHeader(c byte) {
	s, call := &p.call, &p.f.Calls.Call
	s.header = append(s.header, c)
	text := string(s.header)
	if call.Content != "" && text == call.Content {
		p.mode = inContent
		return
	}
	h, f := matchAny(p.marking.headers, text)
	switch {
	case f == maybe, f == no && call.Content != "" && len(text) < len(call.Content) && call.Content[:len(text)] == text:
		return
	case f == no || !p.named(h.name, h.id):
		p.fail()
		return
	}
	s.stage = inArguments
	switch call.Arguments {
	case JSON:
		s.reader = &jsonArguments{out: p.argument}
	case XML:
		s.reader = &parameters{p: p, spec: call.Params, headers: p.marking.params}
	case Python, Bare:
		s.reader = newRelaxed(p, call.Arguments)
	}
	for i := h.end; i < len(text) && p.mode == inCalls && s.stage == inArguments; i++ {
		switch s.reader.step(text[i]) {
		case done:
			p.closeCall()
		case bad:
			p.fail()
		}
	}
}

// named begins a call, and reports whether its tool may be called.
func (p *Parser) named(name, id string) bool {
	s := &p.call
	t := p.tools[name]
	if t == nil && !p.o.AnyName || name == "" {
		return false
	}
	p.flush(true)
	s.tool, s.id, s.open, s.index = t, id, true, s.next
	s.next++
	s.was = p.content
	p.content = contentState{started: p.content.started, called: true, calls: true}
	p.callEvent(Event{Kind: CallOpened, Name: name, ID: id})
	return true
}

// argument adds to the arguments of the open call.
func (p *Parser) argument(text string) {
	p.call.args = true
	if p.o.Hold {
		p.call.text = append(p.call.text, text...)
		return
	}
	for i := 0; i < len(text); i++ {
		p.emit(ArgumentsDelta, text[i])
	}
}

func (p *Parser) callEvent(e Event) {
	e.Index = p.call.index
	p.flush(true)
	if p.o.Hold {
		p.call.kept = append(p.call.kept, e)
		return
	}
	p.events = append(p.events, e)
}

// closeCall ends a call that is well formed.
func (p *Parser) closeCall() {
	s := &p.call
	if !s.open {
		p.fail()
		return
	}
	if !s.args {
		p.argument("{}")
	}
	p.callEvent(Event{Kind: CallClosed, ID: s.id})
	p.release()
	s.open, s.just, s.stage, s.reader = false, true, between, nil
	s.closed++
	s.literal = s.literal[:0]
	s.forget()
	if s.list != listNone {
		s.list = listAfter
	}
	if p.f.Messages != nil {
		p.nextMessage()
	}
}

// release gives what Hold kept.
func (p *Parser) release() {
	s := &p.call
	for _, e := range s.kept {
		p.events = append(p.events, e)
		if e.Kind == CallOpened && len(s.text) > 0 {
			p.events = append(p.events, Event{Kind: ArgumentsDelta, Index: e.Index, Text: string(s.text)})
		}
	}
	s.kept, s.text = s.kept[:0], s.text[:0]
}

// fail makes content of a call that is not well formed. Only its end may become a mark.
func (p *Parser) fail() {
	s := &p.call
	switch {
	case s.open && p.o.Hold:
		s.next--
		s.kept, s.text = s.kept[:0], s.text[:0]
	case s.open:
		p.callEvent(Event{Kind: CallBroken})
	}
	if s.open {
		p.content = s.was
	}
	s.open, s.reader = false, nil
	p.mode = inContent
	text := s.raw
	n := len(text) - p.marking.content.tail(text)
	for _, c := range text[:n] {
		p.putContent(c)
	}
	p.held = append(p.held[:0], text[n:]...)
	s.forget()
}

// forget drops the text of a call, and the memory of a large one.
func (s *callState) forget() {
	if s.raw = s.raw[:0]; cap(s.raw) > MaxSpace {
		s.raw = nil
	}
}

// endCalls ends the output among calls.
func (p *Parser) endCalls(cut bool) {
	s := &p.call
	switch {
	case cut:
		p.flush(true)
		p.release()
	case s.stage == between && s.closed > 0:
		p.leaveCalls()
	default:
		p.fail()
	}
}
