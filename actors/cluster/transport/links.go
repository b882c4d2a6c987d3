package transport

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/messages"
)

// links are the keys of this node's ends of links. It is used from the goroutines of
// connections, so it has a lock; it has no state of an engine.
type links struct {
	system *actor.ActorSystem
	mu     sync.Mutex
	byKey  map[string]*end
}

// end is this node's end of a link.
type end struct {
	pid     *actor.PID
	peer    string      // the address of its connection to the peer; "" before Connect
	carrier *connection // that has brought its first frame; no other one may bring more
	over    bool        // nothing goes to the actor any more
}

func newLinks(system *actor.ActorSystem) *links {
	return &links{system: system, byKey: map[string]*end{}}
}

func (l *links) open(pid *actor.PID) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	key := hex.EncodeToString(b[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byKey[key] = &end{pid: pid}
	return key
}

func (l *links) connect(key, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.byKey[key]; e != nil {
		e.peer = address
	}
}

// end has nothing more go to the actor of a key: the next link may have its name.
func (l *links) end(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.byKey[key]; e != nil {
		e.over = true
	}
}

// close forgets a key. It returns the address of its connection to the peer; "" before Connect.
func (l *links) close(key string) (peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byKey[key]
	if e == nil {
		return ""
	}
	delete(l.byKey, key)
	return e.peer
}

// carry returns the actor to which a connection may bring frames with a key. errOver is of
// a key that is not known: of a link that is over, whose goodbye comes late, or that
// another node has made up so that an honest one sends something wrong.
func (l *links) carry(c *connection, key string) (id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byKey[key]
	switch {
	case e == nil || e.over:
		return "", errOver
	case e.carrier == nil:
		e.carrier = c
	case e.carrier != c:
		return "", fmt.Errorf("a frame is for a link of another connection")
	}
	return e.pid.Id, nil
}

// ended tells the links that a connection carried that it has ended.
func (l *links) ended(c *connection, cause string) {
	l.tell(cause, func(e *end) bool { return e.carrier == c })
}

// lost tells the link whose connection to its peer has ended.
func (l *links) lost(address, cause string) {
	l.tell(cause, func(e *end) bool { return address != "" && e.peer == address })
}

func (l *links) tell(cause string, which func(*end) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.byKey {
		if !e.over && which(e) {
			l.system.Root.Send(e.pid, &messages.LinkBroken{Cause: cause})
		}
	}
}
