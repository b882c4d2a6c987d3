package output

import "strings"

// headerByte reads a byte of a message's header, or between two messages. Where no header can
// be, the text is content.
func (p *Parser) headerByte(c byte) {
	ms := p.f.Messages
	p.header = append(p.header, c)
	text := string(p.header)
	if p.loose {
		for _, end := range ms.Ends {
			if text == end {
				p.header = p.header[:0]
				return
			}
		}
	}
	if strings.HasSuffix(text, ms.Body) {
		p.beginMessage(text)
		return
	}
	if len(text) < MaxHeader && p.mayBeHeader(strings.TrimLeft(text, " \n")) {
		return
	}
	p.mode, p.header, p.loose = inContent, p.header[:0], false
	n := len(text) - p.marking.content.tail([]byte(text))
	for i := 0; i < n; i++ {
		p.putContent(text[i])
	}
	p.held = append(p.held[:0], text[n:]...)
}

// mayBeHeader reports whether a header may begin with a text.
func (p *Parser) mayBeHeader(text string) bool {
	ms := p.f.Messages
	starts := append([]string{ms.Start, ms.Channel, ms.Recipient, ms.Body}, ms.Other...)
	if p.loose {
		starts = append(starts, ms.Ends...)
	}
	for _, start := range starts {
		start = strings.TrimLeft(start, " ")
		if strings.HasPrefix(text, start) || strings.HasPrefix(start, text) {
			return true
		}
	}
	return false
}

// beginMessage begins the text of a message.
func (p *Parser) beginMessage(header string) {
	ms := p.f.Messages
	channel, to := word(header, ms.Channel), word(header, strings.TrimLeft(ms.Recipient, " "))
	p.header, p.loose = p.header[:0], false
	name, isTool := strings.CutPrefix(to, ms.Tools)
	switch {
	case isTool && (p.tools[name] != nil || p.o.AnyName):
		p.mode = inCalls
		s := &p.call
		s.raw, s.stage, s.id, s.args = append(s.raw[:0], header...), inArguments, "", false
		s.reader = &jsonArguments{out: p.argument}
		p.named(name, "")
	case to != "" && to != ms.Role && !isTool:
		p.mode = inSkip
	case channel == ms.Reasoning && !isTool:
		p.mode = inReasoning
		p.reason = reasonState{any: p.reason.any}
		for i := 0; i < len(header) && p.o.KeepReasoning; i++ {
			p.put(header[i])
		}
		if p.reason.any {
			p.reason.started, p.reason.space = true, []byte("\n")
		}
	default:
		p.mode = inContent
		for i := 0; i < len(header) && isTool; i++ {
			p.put(header[i]) // a tool that is not known
		}
	}
}

// word returns the text after the last of some marks, up to white space or a mark.
func word(header, mark string) string {
	at := strings.LastIndex(header, mark)
	if at < 0 {
		return ""
	}
	text := header[at+len(mark):]
	if end := strings.IndexAny(text, " <\n"); end >= 0 {
		text = text[:end]
	}
	return text
}

// messageMark acts on a mark in the text of a message.
func (p *Parser) messageMark(mark string) {
	ms := p.f.Messages
	if p.mode == inReasoning && p.o.KeepReasoning {
		for i := 0; i < len(mark) && mark != ms.Start; i++ {
			p.put(mark[i])
		}
	}
	p.nextMessage()
	if mark == ms.Start || mark == ms.Channel {
		p.header, p.loose = append(p.header, mark...), false
	}
}

func (p *Parser) nextMessage() {
	p.mode, p.header, p.loose = inHeader, p.header[:0], true
}

// endHeader ends the output in a header or between two messages.
func (p *Parser) endHeader(cut bool) {
	p.mode = inContent
	if cut {
		return
	}
	for _, c := range p.header {
		p.putContent(c)
	}
}
