package messages

// Header says to which epoch of which engine a message belongs. It is embedded in
// every message between the actors of an epoch.
//
// The Outbox stamps it on the messages that a core sends, and rejects messages
// with another one. So a core inside an epoch does not handle epochs. Intake and
// the supervisor outlive epochs; they set and compare the header themselves.
type Header struct {
	Engine EngineID
	Epoch  Epoch
}

// HeaderOf is the header of a message; zero if it has none.
func HeaderOf(msg any) Header {
	if s, ok := msg.(stamped); ok {
		return *s.header()
	}
	return Header{}
}

// stamped is a message with a Header.
type stamped interface{ header() *Header }

func (h *Header) header() *Header { return h }
