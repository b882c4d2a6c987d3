package output

import (
	"fmt"
	"slices"
)

// Format describes how a model writes its parts. It is data: the parser interprets it, and
// a grammar for calls can be made of it. The zero Format has content only.
//
// Formats share what they point to, so nobody may change it.
//
// Texts in it are literal, but a newline or space in a Header matches any white space, or none.
// Between the parts of a call white space is always allowed.
type Format struct {
	Name      string    `json:"name"`
	Reasoning Reasoning `json:"reasoning,omitzero"`
	Calls     *Calls    `json:"calls,omitempty"`    // nil: the format has no tool calls
	Messages  *Messages `json:"messages,omitempty"` // not nil: every part is a message with a header
	Drop      []string  `json:"drop,omitempty"`     // marks that are left out of the content
	ID        IDShape   `json:"id"`                 // how ids of calls look
	History   History   `json:"history,omitzero"`
}

// History is how the template wants earlier messages of the model. Detect sets it.
type History struct {
	// ArgumentsText says that it wants the arguments of calls as a JSON text, not as an object.
	ArgumentsText bool `json:"arguments_text,omitempty"`
	// NullContent says that it writes calls only of messages whose content is null.
	NullContent bool `json:"null_content,omitempty"`
	// Reasoning is the key of the thoughts in a message. "content" means that they are a block
	// {"type": "thinking", "thinking": …} of the content; "" means that the template has none.
	Reasoning string `json:"reasoning,omitempty"`
}

// Reasoning is how thoughts are marked. They stand at the start of the output.
type Reasoning struct {
	Open        string `json:"open"`
	Close       string `json:"close"`                   // "" in Close: the format has no reasoning
	KeepOpen    bool   `json:"keep_open,omitempty"`     // the text of Open is part of the thoughts
	Implied     bool   `json:"implied,omitempty"`       // the output begins inside the thoughts, even if nothing opened them
	Reopens     bool   `json:"reopens,omitempty"`       // thoughts may also begin later, in the content
	EndedByCall bool   `json:"ended_by_call,omitempty"` // a call ends the thoughts, even without Close
}

// Thinks reports whether outputs may have thoughts.
func (f *Format) Thinks() bool { return f.Reasoning.Close != "" || f.Messages != nil }

// Thoughts returns the texts that open and end thoughts at the begin of an output.
func (f *Format) Thoughts() (open, end string) {
	if m := f.Messages; m != nil {
		return m.Channel + m.Reasoning + m.Body, m.Ends[0]
	}
	return f.Reasoning.Open, f.Reasoning.Close
}

// Calls is how tool calls are written:
//
//	Begin Call Separator Call … End
//
// with "[" after Begin and "]" before End if List is set. Separator and End may be missing
// in the output, and Begin too where a call has an Open.
type Calls struct {
	Lead      string `json:"lead,omitempty"` // what the template writes between content and calls; no part of the content
	Begin     string `json:"begin,omitempty"`
	AtStart   bool   `json:"at_start,omitempty"`  // calls may also begin without a mark, as the first thing in the content
	List      bool   `json:"list,omitempty"`      // the calls are the items of a list
	Separator string `json:"separator,omitempty"` // between calls of no list, beside white space
	End       string `json:"end,omitempty"`
	Call      Call   `json:"call"`
}

// Call is how one call is written:
//
//	Open Header arguments Close      with a Header
//	Open {object} Close              with an Object
//
// Open and Close may be "". Close may be missing if the arguments have their own end.
type Call struct {
	Open    string   `json:"open,omitempty"`
	Headers []string `json:"headers,omitempty"` // patterns, see Pieces; the first is the usual one
	Object  *Object  `json:"object,omitempty"`
	// Arguments is how arguments after a header are written; those of an Object are JSON.
	Arguments Arguments `json:"arguments"`
	Params    *Params   `json:"params,omitempty"` // for XML
	Close     string    `json:"close,omitempty"`
	Content   string    `json:"content,omitempty"` // a call of this name is no call: its text is content
}

// Object is a call as one JSON object.
type Object struct {
	Name      []string `json:"name,omitempty"` // keys, the first is the usual one; likewise below
	Arguments []string `json:"arguments,omitempty"`
	ID        []string `json:"id,omitempty"`
	NameIsKey bool     `json:"name_is_key,omitempty"` // the object has one member: the name, and the arguments as its value
}

// Arguments says how the arguments of a call are written.
type Arguments int

const (
	JSON   Arguments = iota // a JSON object, or a JSON string that holds one
	XML                     // parameters between tags, see Params
	Python                  // name=value, … up to ")"
	Bare                    // {name:value, …} with strings between Quote marks
)

// MarshalText writes the name.
func (a Arguments) MarshalText() ([]byte, error) {
	return []byte(argumentNames[a]), nil
}

// UnmarshalText reads the name.
func (a *Arguments) UnmarshalText(text []byte) error {
	i := slices.Index(argumentNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("arguments are %q; they must be json, xml, python or bare", text)
	}
	*a = Arguments(i)
	return nil
}

var argumentNames = [...]string{"json", "xml", "python", "bare"}

// Quote marks the begin and end of a string among Bare arguments.
const Quote = `<|"|>`

// Params is how parameters are written: Open Header value Close, any number of them, then End.
type Params struct {
	Open    string   `json:"open"`
	Headers []string `json:"headers"`
	Close   string   `json:"close"`
	Framed  bool     `json:"framed,omitempty"` // a newline after the header and one before Close are no part of the value
	End     string   `json:"end"`
}

// Messages is a format of messages: a header, Body, a text, and one of Ends. A header may name
// a channel, and the one that the text is for.
type Messages struct {
	Start     string   `json:"start"`     // begins a header
	Role      string   `json:"role"`      // of the model, after Start
	Channel   string   `json:"channel"`   // precedes the channel's name
	Recipient string   `json:"recipient"` // precedes the recipient's name
	Other     []string `json:"other"`     // further marks in a header
	Body      string   `json:"body"`
	Ends      []string `json:"ends"`
	Reasoning string   `json:"reasoning"` // the channel of thoughts; the others are content
	Tools     string   `json:"tools"`     // prefix of a recipient that is a tool; a text for another recipient is left out
}

// IDShape is how the ids of a format's calls look.
type IDShape int

const (
	CallID  IDShape = iota // call_ and 24 letters and digits
	NineID                 // nine letters and digits
	IndexID                // functions.NAME:INDEX
)

// MarshalText writes an example.
func (s IDShape) MarshalText() ([]byte, error) {
	return []byte(s.example()), nil
}

// UnmarshalText reads the example.
func (s *IDShape) UnmarshalText(text []byte) error {
	for _, one := range []IDShape{CallID, NineID, IndexID} {
		if one.example() == string(text) {
			*s = one
			return nil
		}
	}
	return fmt.Errorf("an id is %q; it must be %s, %s or %s", text, CallID.example(), NineID.example(), IndexID.example())
}

func (s IDShape) example() string { return s.New("NAME", 0, [24]byte{}) }

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
