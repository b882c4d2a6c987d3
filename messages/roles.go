package messages

// Actor is a role. Messages and effects name roles; the wiring maps them to processes.
type Actor uint8

// The roles, in the order in which a request passes them.
const (
	Client Actor = iota // an HTTP handler or the command line
	Intake
	Queue
	Former // the batch former
	Cache
	Allocator
	Runner
	Supervisor
	Observer // receives events of the engine; an engine may have none
	Dispatch // between intake and several engines; one engine has none
	Portal   // between an engine and several gateways
	Link     // an end of a connection between a gateway and an engine
	Peer     // the other end of a link, in another process
)

var actorNames = [...]string{"client", "intake", "queue", "former", "cache", "allocator", "runner", "supervisor", "observer", "dispatch", "portal", "link", "peer"}

// String is the name used in logs, metrics and the protocol table.
func (a Actor) String() string {
	if int(a) < len(actorNames) {
		return actorNames[a]
	}
	return "unknown"
}
