package node

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// cheapClient posts JSON over connections that it keeps, with much
// less processor time than net/http's client takes. It reads answers of a known
// length only.
type cheapClient struct {
	address string
	mu      sync.Mutex
	idle    []*cheapConn
}

type cheapConn struct {
	net.Conn
	r   *bufio.Reader
	out []byte
}

// answered is an answer.
type answered struct {
	status, retryAfter int
	text               []byte
}

// post sends a body and reads the answer, until a deadline. The connection is
// kept if all went well.
func (c *cheapClient) post(path string, body []byte, deadline time.Time) (a answered, err error) {
	conn, err := c.conn()
	if err != nil {
		return a, err
	}
	if a, err = conn.post(path, body, deadline); err != nil {
		conn.Close()
		return a, err
	}
	c.mu.Lock()
	c.idle = append(c.idle, conn)
	c.mu.Unlock()
	return a, nil
}

func (c *cheapClient) conn() (*cheapConn, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		conn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return conn, nil
	}
	c.mu.Unlock()
	raw, err := net.Dial("tcp", c.address)
	if err != nil {
		return nil, err
	}
	return &cheapConn{Conn: raw, r: bufio.NewReader(raw)}, nil
}

// close closes the connections that are kept.
func (c *cheapClient) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		conn.Close()
	}
	c.idle = nil
}

func (c *cheapConn) post(path string, body []byte, deadline time.Time) (a answered, err error) {
	if err = c.SetDeadline(deadline); err != nil {
		return a, err
	}
	c.out = fmt.Appendf(c.out[:0], "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	if _, err = c.Write(c.out); err != nil {
		return a, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if len(line) < 12 {
		return a, fmt.Errorf("status line %q", line)
	}
	a.status = number(line[9:12])
	length := -1
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return a, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length = number(v)
		} else if v, ok := bytes.CutPrefix(line, []byte("Retry-After: ")); ok {
			a.retryAfter = number(v)
		}
	}
	if length < 0 {
		return a, fmt.Errorf("an answer of %d without a length", a.status)
	}
	a.text = make([]byte, length)
	_, err = io.ReadFull(c.r, a.text)
	return a, err
}

// number parses the number of a header; -1 if it is not one.
func number(text []byte) int {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return -1
	}
	return n
}
