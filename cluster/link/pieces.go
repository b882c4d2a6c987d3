package link

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// cutter divides large messages into pieces, one after the other.
type cutter struct {
	waiting [][]byte // what is left of the first one, and the others
	bytes   int      // of all
	added   int      // messages, ever
	done    int      // those of which all pieces were taken
}

func (c *cutter) add(b *wire.Bulk) error {
	data, err := proto.Marshal(b)
	if err != nil {
		return err
	}
	c.waiting, c.bytes = append(c.waiting, data), c.bytes+len(data)
	c.added++
	return nil
}

// next returns the next piece; nil if nothing waits.
func (c *cutter) next() *wire.Piece {
	if len(c.waiting) == 0 {
		return nil
	}
	data := c.waiting[0]
	n := min(len(data), wire.PieceBytes)
	c.bytes -= n
	if n == len(data) {
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.done++
		return &wire.Piece{Data: data, Last: true}
	}
	c.waiting[0] = data[n:]
	return &wire.Piece{Data: data[:n]}
}

// joiner puts the pieces of the peer together.
type joiner struct{ data []byte }

// add returns the message that a piece completes, or nil.
func (j *joiner) add(p *wire.Piece) (*wire.Bulk, error) {
	if n := len(j.data) + len(p.GetData()); n > wire.BulkBytes {
		return nil, fmt.Errorf("a message in pieces has at least %d bytes; at most %d are allowed", n, wire.BulkBytes)
	}
	j.data = append(j.data, p.GetData()...)
	if !p.GetLast() {
		return nil, nil
	}
	b := &wire.Bulk{}
	err := proto.Unmarshal(j.data, b)
	j.data = j.data[:0]
	return b, err
}
