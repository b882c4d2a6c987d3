package chat

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

func TestChatHoldsAConversation(t *testing.T) {
	out := commandline.MustRun(t, cli.Root("test", New()), "Hello!\n/history\n/reset\n/history\n/nonsense\n/system Be brief.\nHi\n/quit\nnever read\n", "chat", "--temperature", "0", "--max-tokens", "12")
	for _, want := range []string{"user: Hello!", "assistant: ", "(conversation cleared)", "Unknown command /nonsense", "(new conversation)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the conversation lacks %q:\n%s", want, out)
		}
	}
	if strings.Count(out, "user: Hello!") != 1 || strings.Contains(out, "never read") {
		t.Errorf("reset or quit had no effect:\n%s", out)
	}
}

func TestChatRefusesALineThatIsTooLong(t *testing.T) {
	_, err := commandline.Run(t, cli.Root("test", New()), "/help\n"+strings.Repeat("x", maxLine+1), "chat")
	if err == nil || !strings.Contains(err.Error(), "longer than 1024 KiB") {
		t.Errorf("a long line gives %v", err)
	}
}

// interrupting stops the answer at its first text, as Ctrl-C does.
type interrupting struct {
	text bytes.Buffer
	once sync.Once
	stop *cli.Interrupts
}

func (w *interrupting) Write(p []byte) (int, error) {
	w.once.Do(func() { w.stop.Interrupt() })
	return w.text.Write(p)
}

func TestAnInterruptEndsTheAnswerAndNotTheChat(t *testing.T) {
	ctx, interrupts := cli.WithInterrupts(t.Context())
	out := &interrupting{stop: interrupts}
	err := commandline.Execute(ctx, cli.Root("test", New()), "Tell me a story\n/history\nHello\n/history\n/quit\n", out, io.Discard, "chat", "--temperature", "0", "--max-tokens", "60")
	if err != nil {
		t.Fatal(err)
	}
	if text := out.text.String(); !strings.Contains(text, "(stopped; this turn was discarded)") || strings.Contains(text, "user: Tell me a story") || !strings.Contains(text, "user: Hello") {
		t.Errorf("the conversation was\n%s", text)
	}
}

// A text that came at once has no speed.
func TestSpeed(t *testing.T) {
	u := &node.Usage{Prompt: 7, Completion: 101}
	for rest, want := range map[time.Duration]string{
		time.Second:          "101 tokens, 100.0 tokens/s, first token after 50ms; prompt: 7 tokens, 0 of them cached",
		0:                    "101 tokens, first token after 50ms; prompt: 7 tokens, 0 of them cached",
		3 * time.Microsecond: "101 tokens, first token after 50ms; prompt: 7 tokens, 0 of them cached",
	} {
		if got := speed(u, 50*time.Millisecond, rest); got != want {
			t.Errorf("%v: %s", rest, got)
		}
	}
}
