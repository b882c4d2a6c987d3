package up

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/troupe-engine/troupe/telemetry/logtext"
)

const (
	maxLine  = 64 << 10 // bytes; longer lines are passed on in parts
	maxCause = 4 << 10  // bytes of an error that are kept
	// lastWords begin the error with which a command of this binary ends.
	lastWords = "troupe: "
)

// process is one process of a node.
type process struct {
	cmd   *exec.Cmd
	cause strings.Builder // what it said at its end
	quit  chan struct{}   // closed after its end
}

// run starts this binary for a node. Each line that the process writes goes to line,
// except for the error at its end: that goes to ended, which is called after the end.
func run(binary string, n *spec, line func(string), ended func(error)) (*process, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	p := &process{cmd: exec.Command(binary, n.args...), quit: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = n.env, in, in, apartFromParent()
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		p.read(out, line)
		out.Close()
		err := p.cmd.Wait()
		close(p.quit)
		ended(p.reason(err))
	}()
	return p, nil
}

// read passes lines on until the process ends.
func (p *process) read(out io.Reader, line func(string)) {
	lines := bufio.NewReaderSize(out, maxLine)
	held := false
	for {
		text, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		held = held || strings.HasPrefix(string(text), lastWords)
		switch {
		case !held:
			line(string(text))
		case p.cause.Len()+len(text) < maxCause:
			p.cause.WriteString(strings.TrimPrefix(string(text), lastWords) + "\n")
		}
	}
}

// reason is why the process has ended: its own words, or its status.
func (p *process) reason(err error) error {
	switch text := strings.TrimSpace(p.cause.String()); {
	case text != "":
		return errors.New(text)
	case err != nil:
		return err
	}
	return errors.New("the process has ended with status 0")
}

// terminate asks the process to end. It may have ended already.
func (p *process) terminate() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.kill() // this system cannot ask
	}
}

// kill fails only if the process has ended.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// output puts the names of nodes before their lines. Nodes write at the same time.
type output struct {
	mu    sync.Mutex
	to    io.Writer
	width int // of the longest name
}

func (o *output) line(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintf(o.to, "%-*s | %s\n", o.width, name, logtext.Escape(text))
}
