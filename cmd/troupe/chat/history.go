package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of the history.
const (
	maxHistory     = 500     // lines
	maxHistoryLine = 2 << 10 // bytes; longer lines are not kept
	maxHistoryFile = 4 << 20 // bytes that are read
)

// history has the lines that were typed, the newest last. It implements term.History.
type history struct {
	file  string // "": none
	lines []string
}

// defaultHistory is the file in the user's own cache directory; "" if there is none.
func defaultHistory() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "troupe", "chat-history")
}

func openHistory(file string) (*history, error) {
	h := &history{file: file}
	if file == "" {
		return h, nil
	}
	at, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err == nil && (!at.Mode().IsRegular() || at.Size() > maxHistoryFile) {
		err = errors.New("it is not a chat history")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--history-file %s cannot be read: %w; remove it, or use another file", file, err)
	}
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(text), ""), "\n") {
		h.Add(line)
	}
	return h, nil
}

// Add implements term.History. An empty line and a repetition are not kept.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(line) > maxHistoryLine || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[len(h.lines)-maxHistory:]
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *history) At(index int) string { return h.lines[len(h.lines)-1-index] }

// save replaces the file, which only its owner can read: it contains what users typed.
func (h *history) save() error {
	if h.file == "" || len(h.lines) == 0 {
		return nil
	}
	temporary := h.file + ".tmp"
	err := os.MkdirAll(filepath.Dir(h.file), 0o700)
	if err == nil {
		err = os.WriteFile(temporary, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(temporary, h.file)
	}
	if err != nil {
		return fmt.Errorf("the lines that you typed were not saved: %w; use another --history-file, or an empty one", err)
	}
	return nil
}
