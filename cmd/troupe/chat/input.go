package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// input gives one message or command after another. io.EOF is the end.
type input interface {
	next(ctx context.Context) (string, error)
}

// maxLine is the longest line of the input, in bytes.
const maxLine = 1 << 20

// pipe has a message on each line.
type pipe struct {
	scanner *bufio.Scanner
	lines   <-chan string
}

func newPipe(in io.Reader) *pipe {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	return &pipe{scanner, readLines(scanner)}
}

func (p *pipe) next(ctx context.Context) (string, error) {
	select {
	case line, more := <-p.lines:
		if more {
			return line, nil
		}
		if err := p.scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
			return "", fmt.Errorf("a line of the input is longer than %d KiB; use shorter lines", maxLine>>10)
		} else if err != nil {
			return "", err
		}
		return "", io.EOF
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLines reads in the background, so that a signal can end a chat that waits for
// input. The goroutine ends with the input or with the process.
func readLines(scanner *bufio.Scanner) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}
