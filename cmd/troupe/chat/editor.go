package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	prompt     = "> "
	morePrompt = ". "  // within a message of several lines
	fence      = `"""` // around a message of several lines
)

// maxTyped is how many characters of a line package term keeps.
const maxTyped = 4096

// errCut is a line of which characters were lost.
var errCut = fmt.Errorf("a line of a terminal has at most %d characters; this one was cut, so the message was not sent. Divide the line, or pipe the text into troupe chat", maxTyped-1)

// errLeft is the end of a chat by Ctrl-C.
var errLeft = errors.New("the user has ended the chat")

// editor reads messages from a terminal.
type editor struct {
	lines   *term.Terminal
	history *history
	raw     func() (restore func(), err error) // for the time of one line
	ctrlC   pressed                            // in the line that is being read
	hinted  bool                               // the last key was Ctrl-C, in an empty line
}

// pressed says where Ctrl-C was pressed.
type pressed int

const (
	notPressed pressed = iota
	inEmptyLine
	inText
)

// Package term ends the input at Ctrl-C and leaves the key in it. So the keys take another way:
// keyInterrupt, which clears the line, and Enter, which ends it.
const (
	keyCtrlC     = 3
	keyInterrupt = 0x1c // no key of the editor
)

// interruptible puts keyInterrupt and Enter in place of Ctrl-C.
type interruptible struct {
	in   io.Reader
	rest []byte
	err  error
}

// Read implements io.Reader.
func (r *interruptible) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		keys := make([]byte, len(p))
		n, err := r.in.Read(keys)
		r.err = err
		for _, key := range keys[:n] {
			switch key {
			case keyCtrlC:
				r.rest = append(r.rest, keyInterrupt, '\r')
			case keyInterrupt:
			default:
				r.rest = append(r.rest, key)
			}
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, nil
	}
	err := r.err
	r.err = nil
	return n, err
}

func newEditor(in, out *os.File, historyFile string) (*editor, error) {
	h, err := openHistory(historyFile)
	if err != nil {
		return nil, err
	}
	e := editLines(struct {
		io.Reader
		io.Writer
	}{in, out}, h)
	e.raw = func() (func(), error) {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, err
		}
		if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			_ = e.lines.SetSize(width, height)
		}
		e.lines.SetBracketedPasteMode(true)
		return func() {
			e.lines.SetBracketedPasteMode(false)
			_ = term.Restore(int(in.Fd()), state)
		}, nil
	}
	return e, nil
}

// editLines edits on any terminal, which must be raw.
func editLines(tty io.ReadWriter, h *history) *editor {
	keys := struct {
		io.Reader
		io.Writer
	}{&interruptible{in: tty}, tty}
	e := &editor{lines: term.NewTerminal(keys, prompt), history: h, raw: func() (func(), error) { return func() {}, nil }}
	e.lines.History = h
	e.lines.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != keyInterrupt {
			return complete(line, pos, key)
		}
		if e.ctrlC = inEmptyLine; line != "" {
			e.ctrlC = inText
		}
		return "", 0, true
	}
	return e
}

// save keeps the history for the next conversation.
func (e *editor) save() error { return e.history.save() }

// next reads a message. Lines are joined while they end with a backslash, between fences,
// and if they were pasted together. Ctrl-C drops what has been typed of it.
func (e *editor) next(ctx context.Context) (string, error) {
	restore, err := e.raw()
	if err != nil {
		return "", err
	}
	defer restore()
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() { // a signal can end a chat that waits for a key
		text, err := e.message()
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (e *editor) message() (string, error) {
	var lines []string
	fenced := false
	defer e.lines.SetPrompt(prompt)
	for {
		line, err := e.lines.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		if err != nil && !pasted {
			return "", err
		}
		ctrlC := e.ctrlC
		e.ctrlC = notPressed
		if ctrlC != notPressed {
			again := e.hinted
			if e.hinted = ctrlC == inEmptyLine && !fenced && len(lines) == 0; e.hinted && again {
				return "", errLeft
			} else if e.hinted {
				_, _ = io.WriteString(e.lines, "(Ctrl-D or /bye ends the chat)\n")
			}
			lines, fenced = nil, false
			e.lines.SetPrompt(prompt)
			continue
		}
		e.hinted = false
		if utf8.RuneCountInString(line) >= maxTyped {
			return "", errCut
		}
		switch {
		case !fenced && len(lines) == 0 && strings.HasPrefix(strings.TrimSpace(line), fence):
			line, fenced = strings.TrimPrefix(strings.TrimSpace(line), fence), true
			if text, closed := strings.CutSuffix(line, fence); closed {
				return text, nil
			}
			if line != "" {
				lines = append(lines, line)
			}
			e.lines.SetPrompt(morePrompt)
			continue
		case fenced:
			if text, closed := strings.CutSuffix(strings.TrimRight(line, " "), fence); closed {
				if text != "" {
					lines = append(lines, text)
				}
				return strings.Join(lines, "\n"), nil
			}
			lines = append(lines, line)
			continue
		}
		text, continued := strings.CutSuffix(line, `\`)
		lines = append(lines, text)
		if !continued && !pasted {
			return strings.Join(lines, "\n"), nil
		}
		e.lines.SetPrompt(morePrompt)
	}
}

// complete finishes the name of a command at Tab, as far as it is clear.
func complete(line string, pos int, key rune) (newLine string, newPos int, ok bool) {
	if key != '\t' || pos != len(line) || !strings.HasPrefix(line, "/") || strings.Contains(line, " ") {
		return "", 0, false
	}
	var fit []string
	for _, c := range commands {
		if strings.HasPrefix(c.name, line) {
			name := c.name
			if c.argument != "" {
				name += " "
			}
			fit = append(fit, name)
		}
	}
	if len(fit) == 0 {
		return line, pos, true
	}
	common := fit[0]
	for _, name := range fit[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return common, len(common), true
}
