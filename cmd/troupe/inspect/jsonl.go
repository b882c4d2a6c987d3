package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
)

// maxLine is the longest line of a JSONL stream, in bytes.
const maxLine = 64 << 20

// eachLine answers a JSONL stream until the first error; answers before it are written.
func eachLine(in io.Reader, out io.Writer, f func(line []byte) (any, error)) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	w := bufio.NewWriter(out)
	n := 1
	for ; scanner.Scan(); n++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		v, err := f(line)
		if err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), w.Flush())
		}
		if err := cli.PrintJSONLine(w, v); err != nil {
			return err
		}
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d is longer than %d MiB", n, maxLine>>20)
	}
	return errors.Join(err, w.Flush())
}
