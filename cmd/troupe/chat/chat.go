// Package chat is `troupe chat`: a conversation with a model in the terminal.
package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func New() *cobra.Command {
	var system string
	s := node.Sampling{}
	c := &cobra.Command{
		Use: "chat [MODEL]", Short: "Chat with a model in the terminal", Args: cli.ModelArg,
		Long: "Chat with a model in the terminal. Lines from a pipe are answered one by one.\n" +
			"/help lists the commands that you can type.",
		Example: "  troupe chat\n  troupe chat --model ./Qwen2.5-0.5B-Instruct --system \"Answer in one sentence.\"",
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithNode(c, func(ctx context.Context, n *node.Node) error {
				if n.TemplateFault != nil {
					return n.TemplateFault
				}
				t := &talk{node: n, sampling: s, system: system, out: c.OutOrStdout(), filter: cli.Filter(c.OutOrStdout()), prompt: cli.IsTerminal(os.Stdin)}
				t.reset()
				return t.run(ctx, c.InOrStdin())
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&system, "system", "", "system message at the start of the conversation")
	cli.AddSamplingFlags(c, &s)
	return c
}

const chatHelp = `  /reset        clear the conversation
  /system TEXT  start a new conversation with a system message
  /history      show the conversation
  /help         show this list
  /quit         exit (or Ctrl-D)
`

type talk struct {
	node     *node.Node
	sampling node.Sampling
	system   string
	history  []node.Message
	out      io.Writer
	filter   func(string) string // for the model's text
	prompt   bool                // show a prompt before reading a line
}

func (t *talk) reset() {
	t.history = nil
	if t.system != "" {
		t.history = []node.Message{{Role: "system", Content: t.system}}
	}
}

func (t *talk) run(ctx context.Context, in io.Reader) error {
	if t.prompt {
		fmt.Fprintf(t.out, "%s. Type a message, /help for commands, Ctrl-D to exit.\n", t.node.Name)
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	lines := readLines(scanner)
	for {
		if t.prompt {
			fmt.Fprint(t.out, "> ")
		}
		var line string
		select {
		case next, more := <-lines:
			if !more {
				if err := scanner.Err(); !errors.Is(err, bufio.ErrTooLong) {
					return err
				}
				return fmt.Errorf("a line of the input is longer than %d KiB; use shorter lines", maxLine>>10)
			}
			line = strings.TrimSpace(next)
		case <-ctx.Done():
			return nil
		}
		if line == "" {
			continue
		}
		if quit, err := t.line(ctx, line); quit || err != nil {
			return err
		}
	}
}

// maxLine is the longest line of the input, in bytes.
const maxLine = 1 << 20

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

// line handles a command or a message. If the model fails, it drops the message.
func (t *talk) line(ctx context.Context, line string) (quit bool, err error) {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "/quit", "/exit":
		return true, nil
	case "/reset":
		t.reset()
		fmt.Fprintln(t.out, "(conversation cleared)")
	case "/system":
		t.system = strings.TrimSpace(rest)
		t.reset()
		fmt.Fprintln(t.out, "(new conversation)")
	case "/history":
		for _, m := range t.history {
			fmt.Fprintf(t.out, "%s: %s\n", m.Role, t.filter(m.Content))
		}
	case "/help":
		fmt.Fprint(t.out, chatHelp)
	default:
		if strings.HasPrefix(line, "/") {
			fmt.Fprintf(t.out, "Unknown command %s. Type /help for a list.\n", command)
			return false, nil
		}
		return false, t.say(ctx, line)
	}
	return false, nil
}

func (t *talk) say(ctx context.Context, text string) error {
	messages := append(t.history[:len(t.history):len(t.history)], node.Message{Role: "user", Content: text})
	ids, err := t.node.EncodeChat(ctx, messages)
	if err != nil {
		fmt.Fprintln(t.out, "error:", logtext.Lines(err.Error()))
		return nil
	}
	whole := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer cli.CatchInterrupt(ctx, stop)()
	answer, err := t.node.Complete(ctx, ids, t.sampling, false, func(s string) error {
		_, err := io.WriteString(t.out, t.filter(s))
		return err
	})
	fmt.Fprintln(t.out)
	switch {
	case whole.Err() != nil:
		return whole.Err()
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(t.out, "(stopped; this turn was discarded)")
		return nil
	case err != nil:
		fmt.Fprintln(t.out, "error:", logtext.Lines(err.Error()))
		return nil
	}
	t.history = append(messages, node.Message{Role: "assistant", Content: answer.Text})
	return nil
}
