package output

// Format describes how a model writes its parts. It is data: the parser interprets it, and
// a grammar for calls can be made of it. The zero Format has content only.
//
// Texts in it are literal, but a newline or space in a Header matches any white space, or none.
// Between the parts of a call white space is always allowed.
type Format struct {
	Name      string
	Reasoning Reasoning
	Calls     *Calls    // nil: the format has no tool calls
	Messages  *Messages // not nil: every part is a message with a header
	Drop      []string  // marks that are left out of the content
	ID        IDShape   // how ids of calls look
	History   History
}

// History is how the template wants earlier messages of the model. Detect sets it.
type History struct {
	// ArgumentsText says that it wants the arguments of calls as a JSON text, not as an object.
	ArgumentsText bool
	// Reasoning is the key of the thoughts in a message. "content" means that they are a block
	// {"type": "thinking", "thinking": …} of the content; "" means that the template has none.
	Reasoning string
}

// Reasoning is how thoughts are marked. They stand at the start of the output.
type Reasoning struct {
	Open, Close string // "" in Close: the format has no reasoning
	KeepOpen    bool   // the text of Open is part of the thoughts
	Implied     bool   // the output begins inside the thoughts, even if nothing opened them
	Reopens     bool   // thoughts may also begin later, in the content
	EndedByCall bool   // a call ends the thoughts, even without Close
}

// Calls is how tool calls are written:
//
//	Begin Call Separator Call … End
//
// with "[" after Begin and "]" before End if List is set. Separator and End may be missing
// in the output, and Begin too where a call has an Open.
type Calls struct {
	Lead      string // what the template writes between content and calls; no part of the content
	Begin     string
	AtStart   bool   // calls may also begin without a mark, as the first thing in the content
	List      bool   // the calls are the items of a list
	Separator string // between calls of no list, beside white space
	End       string
	Call      Call
}

// Call is how one call is written:
//
//	Open Header arguments Close      with a Header
//	Open {object} Close              with an Object
//
// Open and Close may be "". Close may be missing if the arguments have their own end.
type Call struct {
	Open    string
	Headers []string // patterns, see pattern.go; the first is the usual one
	Object  *Object
	// Arguments is how arguments after a header are written; those of an Object are JSON.
	Arguments Arguments
	Params    *Params // for XML
	Close     string
	Content   string // a call of this name is no call: its text is content
}

// Object is a call as one JSON object.
type Object struct {
	Name, Arguments, ID []string // keys, the first is the usual one
	NameIsKey           bool     // the object has one member: the name, and the arguments as its value
}

// Arguments says how the arguments of a call are written.
type Arguments int

const (
	JSON   Arguments = iota // a JSON object, or a JSON string that holds one
	XML                     // parameters between tags, see Params
	Python                  // name=value, … up to ")"
	Bare                    // {name:value, …} with strings between Quote marks
)

// Quote marks the begin and end of a string among Bare arguments.
const Quote = `<|"|>`

// Params is how parameters are written: Open Header value Close, any number of them, then End.
type Params struct {
	Open    string
	Headers []string
	Close   string
	Framed  bool // a newline after the header and one before Close are no part of the value
	End     string
}

// Messages is a format of messages: a header, Body, a text, and one of Ends. A header may name
// a channel, and the one that the text is for.
type Messages struct {
	Start     string   // begins a header
	Role      string   // of the model, after Start
	Channel   string   // precedes the channel's name
	Recipient string   // precedes the recipient's name
	Other     []string // further marks in a header
	Body      string
	Ends      []string
	Reasoning string // the channel of thoughts; the others are content
	Tools     string // prefix of a recipient that is a tool; a text for another recipient is left out
}

// IDShape is how the ids of a format's calls look.
type IDShape int

const (
	CallID  IDShape = iota // call_ and 24 letters and digits
	NineID                 // nine letters and digits
	IndexID                // functions.NAME:INDEX
)

// Bounds of a parser, hard.
const (
	// MaxCall bounds the text of one call in bytes. A longer one is content.
	MaxCall = 4 << 20
	// MaxSpace bounds white space that is held back in bytes, because it is left out if a
	// certain part follows. If there is more, all of it is given.
	MaxSpace = 4 << 10
	// MaxHeader bounds the text before the arguments of a call, and the header of a message or
	// parameter, in bytes. A longer one is no header.
	MaxHeader = 512
	// MaxDepth bounds how deep arguments may nest. Deeper ones are no call.
	MaxDepth = 500
)
