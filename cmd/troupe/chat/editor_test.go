package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keys is a terminal whose keys are known.
type keys struct {
	io.Reader
	io.Writer
}

// read types keys and returns the messages.
func read(t *testing.T, h *history, typed string) (all []string) {
	t.Helper()
	e := editLines(keys{strings.NewReader(typed), io.Discard}, h)
	for {
		text, err := e.next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if errors.Is(err, errCut) {
			all = append(all, "cut")
			continue
		}
		if errors.Is(err, errLeft) {
			return append(all, "left")
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
}

func TestEditing(t *testing.T) {
	const up, left, home, ctrlC, ctrlD = "\x1b[A", "\x1b[D", "\x01", "\x03", "\x04"
	for name, c := range map[string]struct {
		typed string
		want  []string
	}{
		"a line":           {"hello\r", []string{"hello"}},
		"corrected":        {"helo" + left + "l\r", []string{"hello"}},
		"at the start":     {"ello" + home + "h\r", []string{"hello"}},
		"deleted":          {"hellx\x7fo\r", []string{"hello"}},
		"an earlier line":  {"one\rtwo\r" + up + up + "\r", []string{"one", "two", "one"}},
		"a backslash":      {"one\\\rtwo\\\rthree\rfour\r", []string{"one\ntwo\nthree", "four"}},
		"a fence":          {"\"\"\"\rone\r\rtwo\r\"\"\"\rthree\r", []string{"one\n\ntwo", "three"}},
		"a fence in lines": {"\"\"\"one\rtwo\"\"\"\r", []string{"one\ntwo"}},
		"a closed fence":   {"\"\"\"one\"\"\"\r", []string{"one"}},
		"pasted":           {"\x1b[200~one\rtwo\r\x1b[201~three\r", []string{"one\ntwo\nthree"}},
		"completed":        {"/sys\tBe brief.\r/res\t\r", []string{"/system Be brief.", "/reset"}},
		"several fit":      {"/h\ti\t\r", []string{"/history"}},
		"none fits":        {"/x\t\r", []string{"/x"}},
		"too long":         {strings.Repeat("x", maxTyped+5) + "\rone\r", []string{"cut", "one"}},
		"a dropped line":   {"one" + left + ctrlC + "two\r", []string{"two"}},
		"a dropped fence":  {"\"\"\"\rone\r" + ctrlC + "two\r", []string{"two"}},
		"a dropped part":   {"one\\\r" + ctrlC + "two\r", []string{"two"}},
		"one Ctrl-C":       {ctrlC + "one\r" + ctrlC + "two\r", []string{"one", "two"}},
		"text between":     {ctrlC + "x" + ctrlC + ctrlC + "one\r", []string{"one"}},
		"two Ctrl-C":       {"one\r" + ctrlC + ctrlC + "two\r", []string{"one", "left"}},
		"the end":          {"one\r" + ctrlD + "two\r", []string{"one"}},
	} {
		if got := read(t, &history{}, c.typed); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Ctrl-C in an empty line says how to end the chat.
func TestTheHintAtCtrlC(t *testing.T) {
	var screen bytes.Buffer
	e := editLines(keys{strings.NewReader("\x03one\r"), &screen}, &history{})
	if text, err := e.next(t.Context()); text != "one" || err != nil || !strings.Contains(screen.String(), "(Ctrl-D or /bye ends the chat)\r\n") {
		t.Errorf("%q, %v; the screen shows %q", text, err, &screen)
	}
}

// The history outlives the chat, within its bounds, and only its owner can read it.
func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "history")
	h, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	read(t, h, "one\rone\r \r"+strings.Repeat("x", maxHistoryLine+1)+"\rtwo\r")
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(file); err != nil || at.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", at.Mode(), err)
	}
	if h, err = openHistory(file); err != nil || h.Len() != 2 || h.At(0) != "two" || h.At(1) != "one" {
		t.Fatalf("%q, %v", h.lines, err)
	}
	if got := read(t, h, "\x1b[A\x1b[A\r"); len(got) != 1 || got[0] != "one" {
		t.Errorf("the second line before is %q", got)
	}
	for i := range maxHistory + 10 {
		h.Add(fmt.Sprint(i))
	}
	if h.Len() != maxHistory || h.At(0) != fmt.Sprint(maxHistory+9) {
		t.Errorf("%d lines, the newest %q", h.Len(), h.At(0))
	}
	if _, err := openHistory(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), "--history-file") {
		t.Errorf("a folder: %v", err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("x\n"), maxHistoryFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openHistory(file); err == nil {
		t.Error("a file beyond the bound is read")
	}
	if h, err := openHistory(""); err != nil || h.save() != nil {
		t.Error("without a file")
	}
}
