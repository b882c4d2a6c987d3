package messages

// Header says to which incarnation of which engine a message belongs. It is
// embedded in every message that the actors of one epoch exchange.
//
// The Outbox stamps it on what a core sends, and refuses what comes with
// another one. So a core inside an epoch knows nothing of epochs. Intake and
// the supervisor outlive epochs; they fill it in and compare it themselves.
type Header struct {
	Engine EngineID
	Epoch  Epoch
}

// header makes a message with a Header in it a stamped one.
func (h *Header) header() *Header { return h }

// stamped is a message with a Header.
type stamped interface{ header() *Header }
