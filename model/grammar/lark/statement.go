package lark

import (
	"encoding/json"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// statement reads the head of a rule and skips its right side.
func (p *parser) statement() error {
	at := p.pos
	h, ok, err := p.header()
	if err != nil {
		return err
	}
	if !ok {
		return p.fail(at, "expected a rule, name: …")
	}
	if p.heads[h.name] != nil {
		return p.fail(at, "%q is defined twice", h.name)
	}
	p.heads[h.name] = h
	p.order = append(p.order, h)
	return p.skipBody()
}

// maxAttributes bounds the attributes of a rule, in bytes.
const maxAttributes = 500

// header reads name, attributes and colon. ok is false where there is none.
func (p *parser) header() (h *head, ok bool, err error) {
	start := p.pos
	p.accept("?")
	p.accept("!")
	h = &head{at: start, name: p.name()}
	h.terminal = isTerminal(h.name)
	if h.name == "" || '0' <= h.name[0] && h.name[0] <= '9' {
		p.pos = start
		return nil, false, nil
	}
	if p.accept("::") {
		p.blank()
		if !p.accept("_") {
			p.pos = start
			return nil, false, nil
		}
		h.parametric = true
	}
	if p.next("[") {
		// An optional part of a rule looks the same up to the colon behind it.
		line, _, _ := strings.Cut(p.text[p.pos:min(len(p.text), p.pos+maxAttributes)], "\n")
		if !strings.Contains(line, "]:") && !strings.Contains(line, "] :") {
			p.pos = start
			return nil, false, nil
		}
		if err := p.attributes(h); err != nil {
			return nil, false, err
		}
	}
	if p.next(".") {
		if q := strings.TrimLeft(p.text[p.pos+1:], "0123456789"); strings.HasPrefix(q, ":") {
			return nil, false, p.fail(p.pos, "priorities are not supported: every reading is followed")
		}
	}
	p.blank()
	if !p.accept(":") || p.next(":") {
		p.pos = start
		return nil, false, nil
	}
	h.body = p.pos
	return h, true, nil
}

// attributes reads [name=value, …].
func (p *parser) attributes(h *head) error {
	p.pos++
	for {
		p.blank()
		at := p.pos
		name := p.name()
		p.blank()
		hasValue := p.accept("=")
		p.blank()
		if h.terminal {
			return p.fail(at, "terminals take no attributes")
		}
		if h.parametric && name != "capture" {
			return p.fail(at, "%q is not supported for parametric rules", name)
		}
		switch name {
		case "lazy":
			h.lazy = true
			if hasValue && !p.accept("true") {
				return p.fail(at, "lazy takes no value")
			}
		case "capture":
			// It names a part of the text and changes no text.
			if hasValue {
				text, _, err := p.quoted()
				if err != nil {
					return err
				}
				if text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
					return p.fail(at, "the name of a capture must be of letters, digits, _ and -")
				}
			}
		case "suffix", "stop":
			if !hasValue || h.suffix != nil {
				return p.fail(at, "%q needs one value, and a rule takes one of suffix and stop", name)
			}
			e, err := p.attributeValue()
			if err != nil {
				return err
			}
			h.suffix, h.stop = e, name == "stop"
		default:
			return p.fail(at, "the attribute %q is not supported", name)
		}
		if p.blank(); p.accept("]") {
			return nil
		}
		if !p.accept(",") {
			return p.fail(p.pos, "the attributes are not closed by ]")
		}
	}
}

// attributeValue reads a string, a regular expression or the name of a terminal.
func (p *parser) attributeValue() (rules.Expr, error) {
	at := p.pos
	switch {
	case p.next(`"`):
		text, e, err := p.quoted()
		if err == nil && text == "" {
			err = p.fail(at, "the text is empty")
		}
		return e, err
	case p.next("/"):
		return p.slashed()
	}
	if name := p.name(); isTerminal(name) {
		return rules.Ref{Name: name, At: at}, nil
	}
	return nil, p.fail(at, "expected a string, a regular expression or a terminal")
}

// skipBody goes to the next statement. Strings, expressions and nested grammars
// are skipped as wholes.
func (p *parser) skipBody() error {
	for {
		p.blank()
		if p.pos >= len(p.text) {
			return nil
		}
		at := p.pos
		c := p.text[at]
		if c == '%' && !p.next("%json") && !p.next("%regex") && !p.next("%lark") && !p.next("%if") {
			return nil
		}
		if isName(c) || c == '?' || c == '!' {
			if _, ok, err := p.header(); ok || err != nil {
				p.pos = at
				return err
			}
		}
		switch {
		case c == '"':
			if _, _, err := p.quoted(); err != nil {
				return err
			}
		case c == '/':
			if _, _, err := p.slashes(); err != nil {
				return err
			}
		case p.accept("%json"), p.accept("%regex"):
			if _, err := p.json(); err != nil {
				return err
			}
		case p.accept("%lark"):
			if _, _, err := p.braces(); err != nil {
				return err
			}
		case c == '<':
			end := strings.IndexAny(p.text[at:], ">\n")
			if end < 0 || p.text[at+end] != '>' {
				return p.fail(at, "the token is not closed by >")
			}
			p.pos += end + 1
		case isName(c):
			if p.name() == "" {
				p.pos++
			}
		default:
			p.pos++
		}
	}
}

// json reads one JSON value and returns it.
func (p *parser) json() ([]byte, error) {
	p.blank()
	at := p.pos
	d := json.NewDecoder(strings.NewReader(p.text[p.pos:]))
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return nil, p.fail(at, "this is not JSON: %v", err)
	}
	p.pos += int(d.InputOffset())
	return value, nil
}

// braces reads {…} with a grammar inside, and returns it and where it begins.
func (p *parser) braces() (text string, at int, err error) {
	p.blank()
	open := p.pos
	if !p.accept("{") {
		return "", 0, p.fail(open, "expected {")
	}
	at = p.pos
	for depth := 1; p.pos < len(p.text); {
		switch c := p.text[p.pos]; {
		case c == '"':
			if _, _, err := p.quoted(); err != nil {
				return "", 0, err
			}
			continue
		case c == '/' && !p.next("//"):
			if _, _, err := p.slashes(); err != nil {
				return "", 0, err
			}
			continue
		case c == '#' || p.next("//"):
			p.blank()
			continue
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				p.pos++
				return p.text[at : p.pos-1], at, nil
			}
		}
		p.pos++
	}
	return "", 0, p.fail(open, "the grammar is not closed by }")
}

// directive reads a statement that begins with a percent sign.
func (p *parser) directive() error {
	at := p.pos
	p.pos++
	switch name := p.name(); name {
	case "import":
		return p.imports()
	case "ignore":
		p.now = &head{terminal: true}
		p.blank()
		e, err := p.alternatives()
		if err != nil {
			return err
		}
		p.ignore = append(p.ignore, e)
		return nil
	case "llguidance":
		text, err := p.json()
		if err != nil {
			return err
		}
		options := map[string]any{}
		if err := json.Unmarshal(text, &options); err != nil {
			return p.fail(at, "%%llguidance needs an object")
		}
		for key, value := range options {
			switch v, isBool := value.(bool); {
			case key == "no_forcing" && isBool:
				// What is forced is the engine's choice and changes no text.
			case key == "allow_initial_skip" && isBool && !v, key == "allow_invalid_utf8" && isBool && !v, key == "ignore_once" && isBool && !v:
			default:
				return p.fail(at, "the option %q of %%llguidance is not supported with this value", key)
			}
		}
		return nil
	default:
		return p.fail(at, "%%%s is not supported", name)
	}
}

// imports reads %import common.NAME [-> NEW] or %import common (NAME, …).
func (p *parser) imports() error {
	p.blank()
	at := p.pos
	if !p.accept("common") {
		return p.fail(at, "only the library common can be imported")
	}
	define := func(name, as string) error {
		t, ok, err := common(p.b.Set, name)
		if err != nil {
			return err
		}
		if !ok {
			return p.fail(at, "common has no %q", name)
		}
		if p.heads[as] != nil || !p.rules.Define(as, rules.Text{Term: t}) {
			return p.fail(at, "%q is defined twice", as)
		}
		return nil
	}
	if p.accept(".") {
		name := p.name()
		as := name
		save := p.pos
		if p.blank(); p.accept("->") {
			p.blank()
			as = p.name()
		} else {
			p.pos = save
		}
		return define(name, as)
	}
	if p.blank(); !p.accept("(") {
		return p.fail(p.pos, "expected common.NAME or common (NAME, …)")
	}
	for {
		p.blank()
		name := p.name()
		if err := define(name, name); err != nil {
			return err
		}
		if p.blank(); p.accept(")") {
			return nil
		}
		if !p.accept(",") {
			return p.fail(p.pos, "expected , or )")
		}
	}
}
