package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// commands are what a line can begin with in place of a message.
var commands = []struct{ name, argument, help string }{
	{"/reset", "", "clear the conversation"},
	{"/system", "TEXT", "start a new conversation with a system message"},
	{"/retry", "", "answer the last message again"},
	{"/history", "", "show the conversation"},
	{"/help", "", "show this list"},
	{"/quit", "", "exit (also /bye, or Ctrl-D)"},
}

type talk struct {
	with     partner
	system   string
	history  []node.Message
	failed   string // the last message, if it got an error in place of an answer
	out      io.Writer
	filter   func(string) string // for the model's text
	terminal bool                // a person reads and types
}

func (t *talk) reset() {
	t.history, t.failed = nil, ""
	if t.system != "" {
		t.history = []node.Message{{Role: "system", Content: t.system}}
	}
}

func (t *talk) run(ctx context.Context, in input) error {
	t.reset()
	if t.terminal {
		fmt.Fprintf(t.out, "%s. Type a message, /help for commands, Ctrl-D to exit.\n", t.with.name())
	}
	for {
		text, err := in.next(ctx)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			if t.terminal { // the cursor is behind the prompt
				fmt.Fprintln(t.out)
			}
			return nil
		case errors.Is(err, errLeft):
			return nil
		case errors.Is(err, errCut):
			fmt.Fprintln(t.out, "error:", err)
			continue
		case err != nil:
			return err
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if quit, err := t.line(ctx, text); quit || err != nil {
			return err
		}
	}
}

// line handles a command or a message.
func (t *talk) line(ctx context.Context, line string) (quit bool, err error) {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "/quit", "/bye", "/exit":
		return true, nil
	case "/reset":
		t.reset()
		fmt.Fprintln(t.out, "(conversation cleared)")
	case "/system":
		t.system = strings.TrimSpace(rest)
		t.reset()
		fmt.Fprintln(t.out, "(new conversation)")
	case "/retry":
		if t.failed != "" {
			_, err := t.say(ctx, t.failed)
			return false, err
		}
		last := len(t.history) - 2
		if last < 0 || t.history[last].Role != "user" {
			fmt.Fprintln(t.out, "There is no message to answer again.")
			return false, nil
		}
		before, text := slices.Clone(t.history), t.history[last].Content
		t.history = t.history[:last]
		answered, err := t.say(ctx, text)
		if !answered {
			t.history, t.failed = before, ""
		}
		return false, err
	case "/history":
		for _, m := range t.history {
			fmt.Fprintf(t.out, "%s: %s\n", m.Role, t.filter(m.Content))
		}
	case "/help":
		for _, c := range commands {
			fmt.Fprintf(t.out, "  %-14s%s\n", strings.TrimSpace(c.name+" "+c.argument), c.help)
		}
	default:
		if strings.HasPrefix(line, "/") {
			fmt.Fprintf(t.out, "Unknown command %s. Type /help for a list.\n", command)
			return false, nil
		}
		_, err := t.say(ctx, line)
		return false, err
	}
	return false, nil
}

// say sends a message and prints the answer. If that is stopped, the turn is dropped; if it
// fails, /retry sends the message again.
func (t *talk) say(ctx context.Context, text string) (answered bool, err error) {
	messages := append(t.history[:len(t.history):len(t.history)], node.Message{Role: "user", Content: text})
	whole := ctx
	t.failed = ""
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer cli.CatchInterrupt(ctx, stop)()
	start, first, last := time.Now(), time.Time{}, time.Time{} // of the texts
	answer, err := t.with.answer(ctx, messages, func(s string) error {
		if s != "" {
			if last = time.Now(); first.IsZero() {
				first = last
			}
		}
		_, err := io.WriteString(t.out, t.filter(s))
		return err
	})
	fmt.Fprintln(t.out)
	switch {
	case whole.Err() != nil:
		return false, whole.Err()
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(t.out, "(stopped; this turn was discarded)")
		return false, nil
	case err != nil:
		fmt.Fprintln(t.out, "error:", logtext.Lines(err.Error()))
		t.failed = text
		return false, nil
	}
	if t.terminal {
		fmt.Fprintf(t.out, "(%s)\n", speed(&answer.Usage, first.Sub(start), last.Sub(first)))
	}
	t.history = append(messages, node.Message{Role: "assistant", Content: answer.Text})
	return true, nil
}

// leastTime is the time per token below which a text did not come as it was decoded, but at
// once, as from a proxy that collects answers.
const leastTime = 20 * time.Microsecond

// speed describes an answer: the rate is that of the tokens after the first one. Without a
// time that can be measured, there is none.
func speed(u *node.Usage, first, rest time.Duration) string {
	text := fmt.Sprintf("%d tokens", u.Completion)
	if u.Completion > 1 && rest >= time.Duration(u.Completion-1)*leastTime {
		text += fmt.Sprintf(", %.1f tokens/s", float64(u.Completion-1)/rest.Seconds())
	}
	return text + fmt.Sprintf(", first token after %s; prompt: %d tokens, %d of them cached", max(first, 0).Round(time.Millisecond), u.Prompt, u.Cached)
}
